"""Synthetic pages for training, samples, bench and tests, and the intake of real ones."""
