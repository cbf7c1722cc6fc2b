"""The command line: `orderdesk FILE account ID` and `orderdesk FILE orders ID`."""

import sys

from orderdesk.api.orders import list_orders
from orderdesk.store import Store
from orderdesk.users import display_name, fetch_user

USAGE = "usage: orderdesk FILE account|orders ID"


def main(arguments):
    if len(arguments) != 3 or arguments[1] not in ("account", "orders"):
        print(USAGE, file=sys.stderr)
        return 2
    path, command, user_id = arguments
    show = show_account if command == "account" else show_orders
    code, text = show(Store.from_file(path), int(user_id))
    print(text)
    return code


def show_account(store, user_id):
    user = fetch_user(store, user_id)
    if user is None:
        return 1, f"no user {user_id}"
    return 0, f"{display_name(user)} <{user['email']}>, {user['plan']} plan"


def show_orders(store, user_id):
    status, body = list_orders(store, user_id)
    if status != 200:
        return 1, body["error"]
    lines = [f"{order['item']:<10} {order['cents'] / 100:>8.2f}" for order in body["orders"]]
    return 0, "\n".join(lines or ["no orders"])
