"""Invoices, in cents."""

from orderdesk.billing.discounts import discount_percent
from orderdesk.users import display_name, fetch_user

VAT_PERCENT = {"DE": 19, "FR": 20}


def make_invoice(store, user_id):
    """Return the invoice over all orders of this user; raise ValueError for an unknown one."""
    user = fetch_user(store, user_id)
    if user is None:
        raise ValueError(f"cannot bill user {user_id}: unknown")
    net = sum(row["cents"] for row in store.orders_of(user["id"]))
    discount = net * discount_percent(user) // 100
    vat = (net - discount) * VAT_PERCENT.get(user["country"], 0) // 100
    return {
        "to": display_name(user),
        "net": net,
        "discount": discount,
        "vat": vat,
        "total": net - discount + vat,
    }
