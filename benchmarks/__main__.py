"""`make bench`: one table of ratios."""

from __future__ import annotations

import argparse

from benchmarks import claims, verbs, waking
from benchmarks.measuring import render

_ALL = {"claims": claims.rows, "verbs": verbs.rows, "waking": waking.rows}


def main() -> None:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *_ALL], help="which ones (default: all)")
    names = parser.parse_args().names or list(_ALL)
    print(render([row for name in names for row in _ALL[name]()]))


if __name__ == "__main__":
    main()
