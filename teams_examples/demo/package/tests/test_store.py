import json
import tempfile
import unittest
from pathlib import Path

from orderdesk.store import Store
from tests import ORDERS, USERS, a_store


class StoreTest(unittest.TestCase):
    def test_row_of_an_unknown_user_is_none(self):
        self.assertIsNone(a_store().user_row(99))

    def test_ids_are_sorted(self):
        self.assertEqual(a_store().user_ids(), [1, 2, 3])

    def test_orders_are_those_of_the_user(self):
        self.assertEqual([row["item"] for row in a_store().orders_of(1)], ["keyboard", "cable"])

    def test_reads_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "shop.json")
            path.write_text(json.dumps({"users": USERS, "orders": ORDERS}), encoding="utf-8")
            self.assertEqual(Store.from_file(path).user_ids(), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
