"""Run with `python3 -m unittest`."""

from orderdesk.store import Store

USERS = [
    {"id": 1, "name": " Ada Byron ", "email": "Ada@Example.org", "plan": "pro", "country": "FR"},
    {"id": 2, "name": "", "email": "grace@example.org", "plan": "team", "country": "US"},
    {"id": 3, "name": "Konrad", "email": "konrad@example.org"},
]
ORDERS = [
    {"user": 1, "item": "keyboard", "cents": 8000},
    {"user": 1, "item": "cable", "cents": 1000},
    {"user": 2, "item": "monitor", "cents": 20000},
]


def a_store():
    return Store(USERS, ORDERS)
