import unittest

from orderdesk.users import display_name, fetch_user
from tests import a_store


class FetchUserTest(unittest.TestCase):
    def test_name_is_stripped_and_email_lowered(self):
        user = fetch_user(a_store(), 1)
        self.assertEqual(user["name"], "Ada Byron")
        self.assertEqual(user["email"], "ada@example.org")

    def test_plan_and_country_have_defaults(self):
        user = fetch_user(a_store(), 3)
        self.assertEqual((user["plan"], user["country"]), ("free", "DE"))

    def test_unknown_user_is_none(self):
        self.assertIsNone(fetch_user(a_store(), 99))


class DisplayNameTest(unittest.TestCase):
    def test_is_the_name(self):
        self.assertEqual(display_name(fetch_user(a_store(), 3)), "Konrad")

    def test_falls_back_to_the_address(self):
        self.assertEqual(display_name(fetch_user(a_store(), 2)), "grace")


if __name__ == "__main__":
    unittest.main()
