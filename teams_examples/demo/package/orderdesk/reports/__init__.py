"""The month in one page."""
