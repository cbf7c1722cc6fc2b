"""Accounts and amounts."""
