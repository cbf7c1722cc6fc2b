"""Amounts as people write them."""


def parse_amount(text):
    """Return cents for a text such as "12.50"."""
    return int(float(text) * 100)
