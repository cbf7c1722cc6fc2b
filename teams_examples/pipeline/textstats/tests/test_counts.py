import unittest

from textstats.counts import count, words


class CountTest(unittest.TestCase):
    def test_counts_lines_words_and_letters(self):
        self.assertEqual(count("a bc\ndef"), {"lines": 2, "words": 3, "letters": 6})

    def test_empty_text_has_nothing(self):
        self.assertEqual(count(""), {"lines": 0, "words": 0, "letters": 0})

    def test_words_are_letters_only(self):
        self.assertEqual(words("don't 4 snake_case"), ["don", "t", "snake", "case"])


if __name__ == "__main__":
    unittest.main()
