"""What the price list promises."""

import unittest

from shop.prices import with_tax


class PricesTest(unittest.TestCase):
    def test_the_rate_of_the_price_list(self):
        self.assertEqual(with_tax(1000), 1190)

    def test_half_a_cent_goes_up(self):
        self.assertEqual(with_tax(50), 60)
