import unittest
from unittest import mock

from orderdesk.reports.monthly import best_customer, monthly_report
from orderdesk.store import Store
from tests import a_store


class MonthlyReportTest(unittest.TestCase):
    def test_best_customer_comes_last(self):
        self.assertEqual(
            monthly_report(a_store()).splitlines(),
            [
                "Konrad       DE      0.00",
                "Ada Byron    FR     97.20",
                "grace        US    190.00",
            ],
        )

    def test_best_customer_by_name(self):
        self.assertEqual(best_customer(a_store()), "grace")

    def test_empty_shop_has_no_best_customer(self):
        self.assertIsNone(best_customer(Store([], [])))

    def test_name_comes_from_the_user(self):
        user = {"id": 2, "name": "Admiral", "email": "g@example.org", "plan": "team", "country": "US"}
        with mock.patch("orderdesk.reports.monthly.fetch_user", return_value=user):
            self.assertEqual(best_customer(a_store()), "Admiral")


if __name__ == "__main__":
    unittest.main()
