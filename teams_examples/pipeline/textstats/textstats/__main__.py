"""`python3 -m textstats FILE`."""

import argparse
import sys
from pathlib import Path

from textstats.counts import count


def main(arguments):
    parser = argparse.ArgumentParser(prog="textstats", description="Count what is in a text.")
    parser.add_argument("file", type=Path)
    options = parser.parse_args(arguments)
    text = options.file.read_text(encoding="utf-8")
    for name, number in count(text).items():
        print(f"{name:<8} {number:>6}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
