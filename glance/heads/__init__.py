"""Heads on disk: their configuration and the published layouts."""
