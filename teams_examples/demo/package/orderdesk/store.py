"""Users and orders, kept in one JSON file."""

import json
from pathlib import Path


class Store:
    """Rows as they stand in the file; nothing is checked or converted here."""

    def __init__(self, users, orders):
        self._users = {row["id"]: row for row in users}
        self._orders = list(orders)

    @classmethod
    def from_file(cls, path):
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(data["users"], data["orders"])

    def user_row(self, user_id):
        return self._users.get(user_id)

    def user_ids(self):
        return sorted(self._users)

    def orders_of(self, user_id):
        return [row for row in self._orders if row["user"] == user_id]
