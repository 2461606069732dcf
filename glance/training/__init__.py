"""Training of the embedded target and of the heads."""
