"""Drafters: whatever proposes tokens to a target."""
