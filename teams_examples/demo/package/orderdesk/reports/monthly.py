"""One line for each customer, the best one last."""

from orderdesk.billing.invoices import make_invoice
from orderdesk.users import display_name, fetch_user


def monthly_report(store):
    return "\n".join(_line(store, user_id) for user_id in _by_total(store))


def best_customer(store):
    """Return the display name of who paid most, or None in an empty shop."""
    ranked = _by_total(store)
    return display_name(fetch_user(store, ranked[-1])) if ranked else None


def _by_total(store):
    return sorted(store.user_ids(), key=lambda user_id: make_invoice(store, user_id)["total"])


def _line(store, user_id):
    user = fetch_user(store, user_id)
    total = make_invoice(store, user_id)["total"]
    return f"{display_name(user):<12} {user['country']} {total / 100:>9.2f}"
