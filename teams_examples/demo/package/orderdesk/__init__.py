"""Accounts, orders and invoices of a small shop."""
