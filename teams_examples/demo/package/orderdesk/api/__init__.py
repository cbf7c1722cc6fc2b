"""Answers to requests: a status and a body."""
