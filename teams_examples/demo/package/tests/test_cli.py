import contextlib
import io
import unittest

from orderdesk.cli import main, show_account, show_orders
from tests import a_store


class CommandLineTest(unittest.TestCase):
    def test_shows_an_account(self):
        self.assertEqual(show_account(a_store(), 1), (0, "Ada Byron <ada@example.org>, pro plan"))

    def test_unknown_account_is_an_error(self):
        self.assertEqual(show_account(a_store(), 99), (1, "no user 99"))

    def test_shows_orders(self):
        self.assertEqual(show_orders(a_store(), 2), (0, "monitor      200.00"))

    def test_says_that_there_are_no_orders(self):
        self.assertEqual(show_orders(a_store(), 3), (0, "no orders"))

    def test_orders_of_an_unknown_user_are_an_error(self):
        self.assertEqual(show_orders(a_store(), 99), (1, "no user 99"))

    def test_wrong_usage_is_told(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            self.assertEqual(main(["data/shop.json", "delete", "1"]), 2)
        self.assertIn("usage", told.getvalue())


if __name__ == "__main__":
    unittest.main()
