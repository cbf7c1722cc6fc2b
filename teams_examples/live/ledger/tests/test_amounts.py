import unittest

from ledger.amounts import parse_amount


class ParseAmountTest(unittest.TestCase):
    def test_whole_and_broken_amounts(self):
        self.assertEqual([parse_amount("12"), parse_amount("12.50")], [1200, 1250])

    def test_no_cent_is_lost(self):
        self.assertEqual(parse_amount("0.29"), 29)

    def test_thousands_are_grouped(self):
        self.assertEqual(parse_amount("1,234.56"), 123456)


if __name__ == "__main__":
    unittest.main()
