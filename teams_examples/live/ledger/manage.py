"""Bring data/ledger.json up to date: `migrate` takes one step, `status` fails while one is missing."""

import json
import sys
from pathlib import Path

from ledger.steps import STEPS

DATA = Path(__file__).parent / "data" / "ledger.json"


def main(arguments):
    ledger = json.loads(DATA.read_text(encoding="utf-8"))
    done = ledger["version"]
    if arguments == ["migrate"] and done < len(STEPS):
        ledger["accounts"] = [STEPS[done](account) for account in ledger["accounts"]]
        ledger["version"] = done = done + 1
        DATA.write_text(json.dumps(ledger, indent=2) + "\n", encoding="utf-8")
    print(f"step {done} of {len(STEPS)}")
    return 0 if arguments == ["migrate"] or done == len(STEPS) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
