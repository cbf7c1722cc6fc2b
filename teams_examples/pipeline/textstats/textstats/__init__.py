"""Counts in texts."""
