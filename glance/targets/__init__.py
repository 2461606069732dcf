"""Targets: the vision-language models whose output is reproduced."""
