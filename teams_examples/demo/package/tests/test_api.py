import unittest
from unittest import mock

from orderdesk.api.accounts import get_account
from orderdesk.api.orders import list_orders
from tests import a_store


class AccountsTest(unittest.TestCase):
    def test_shows_the_account(self):
        body = {"id": 1, "name": "Ada Byron", "email": "ada@example.org", "plan": "pro"}
        self.assertEqual(get_account(a_store(), 1), (200, body))

    def test_name_falls_back_to_the_address(self):
        self.assertEqual(get_account(a_store(), 2)[1]["name"], "grace")

    def test_unknown_user_is_404(self):
        self.assertEqual(get_account(a_store(), 99), (404, {"error": "no user 99"}))

    def test_user_that_vanished_is_404(self):
        with mock.patch("orderdesk.api.accounts.fetch_user", return_value=None):
            self.assertEqual(get_account(a_store(), 1)[0], 404)


class OrdersTest(unittest.TestCase):
    def test_lists_the_orders(self):
        status, body = list_orders(a_store(), 1)
        self.assertEqual((status, body["user"]), (200, "Ada Byron"))
        self.assertEqual([order["cents"] for order in body["orders"]], [8000, 1000])

    def test_user_without_orders_has_an_empty_list(self):
        self.assertEqual(list_orders(a_store(), 3), (200, {"user": "Konrad", "orders": []}))

    def test_unknown_user_is_404(self):
        self.assertEqual(list_orders(a_store(), 99), (404, {"error": "no user 99"}))


if __name__ == "__main__":
    unittest.main()
