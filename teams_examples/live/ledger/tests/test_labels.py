import unittest

from ledger.labels import label


class LabelTest(unittest.TestCase):
    def test_amount_has_two_digits_after_the_point(self):
        self.assertEqual(label("Ada", 1205), "Ada: 12.05")


if __name__ == "__main__":
    unittest.main()
