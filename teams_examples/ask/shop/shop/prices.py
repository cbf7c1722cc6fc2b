"""Prices with tax, in cents."""

TAX_PERCENT = 16


def with_tax(cents: int) -> int:
    """Return the price with tax, rounded half up."""
    return (cents * (100 + TAX_PERCENT) + 50) // 100
