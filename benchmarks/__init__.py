"""Measurements: two things are always compared within one run, and what counts is their ratio."""
