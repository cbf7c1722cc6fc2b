"""Discounts and invoices."""
