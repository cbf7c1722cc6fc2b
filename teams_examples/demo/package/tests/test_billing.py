import unittest

from orderdesk.billing.discounts import discount_percent
from orderdesk.billing.invoices import make_invoice
from tests import a_store


class DiscountTest(unittest.TestCase):
    def test_depends_on_the_plan(self):
        self.assertEqual(discount_percent({"plan": "pro"}), 10)

    def test_unknown_plan_has_none(self):
        self.assertEqual(discount_percent({"plan": "gold"}), 0)


class InvoiceTest(unittest.TestCase):
    def test_takes_off_the_discount_and_adds_tax(self):
        invoice = make_invoice(a_store(), 1)
        self.assertEqual(invoice, {"to": "Ada Byron", "net": 9000, "discount": 900, "vat": 1620, "total": 9720})

    def test_country_without_tax(self):
        self.assertEqual(make_invoice(a_store(), 2)["vat"], 0)

    def test_nothing_ordered_costs_nothing(self):
        self.assertEqual(make_invoice(a_store(), 3)["total"], 0)

    def test_unknown_user_cannot_be_billed(self):
        with self.assertRaisesRegex(ValueError, "cannot bill user 99"):
            make_invoice(a_store(), 99)


if __name__ == "__main__":
    unittest.main()
