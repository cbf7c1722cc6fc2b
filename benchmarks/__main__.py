"""`make bench`: one table of ratios."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from benchmarks import claims, growth, permissions, starting, verbs, waking
from benchmarks.measuring import FULL, QUICK, Effort, Row, render

_ALL: Mapping[str, Callable[[Effort], list[Row]]] = {
    "claims": claims.rows,
    "growth": growth.rows,
    "permissions": permissions.rows,
    "starting": starting.rows,
    "verbs": verbs.rows,
    "waking": lambda _effort: waking.rows(),
}
_QUICK = ("claims", "growth", "permissions", "starting", "verbs")


def main() -> None:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *_ALL], help="which ones (default: all)")
    parser.add_argument(
        "--quick", action="store_true", help="only see that they run: such numbers mean nothing"
    )
    given = parser.parse_args()
    names = given.names or (_QUICK if given.quick else _ALL)
    print(render([row for name in names for row in _ALL[name](QUICK if given.quick else FULL)]))


if __name__ == "__main__":
    main()
