"""The command line, one file a command. Progress goes to stderr, results to stdout."""
