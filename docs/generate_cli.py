"""Write `docs/cli.md` from the table of verbs: `python docs/generate_cli.py`."""

from __future__ import annotations

from pathlib import Path

from swarm.cli.help import render_main, render_verb
from swarm.cli.table import NOT_BUILT, VERBS
from swarm.errors import EXIT_CODES

PAGE = Path(__file__).with_name("cli.md")

_HEAD = """\
# The command line

Made by `docs/generate_cli.py` from the help of `swarm`; change that, not this page.

Results go to stdout, everything else to stderr. With `--json` a verb prints one object (with `--follow` one
on each line), and an error is one object on stderr: `{"error": {"code": …, "message": …, "details": {…}}}`.
Colours are used on a terminal only, and not when `NO_COLOR` is set. Text that others wrote is printed with
its control characters escaped.
"""

_MEANINGS = {
    0: "done",
    1: "a bug in swarm; `SWARM_DEBUG=1` shows where",
    2: "bad input",
    3: "not found",
    4: "refused by the state of things",
    5: "denied, or nobody to ask",
    6: "some task failed, or nobody is left who could do it",
    7: "budget spent",
    75: "busy: the same command may succeed later",
    124: "timed out",
    130: "interrupted",
}


def render_page() -> str:
    """Return the whole page."""
    parts = [_HEAD, _block(render_main()), "## Exit codes\n", _exit_codes(), "## Verbs\n"]
    parts += [f"### `{verb.label}`\n\n{_block(render_verb(verb))}" for verb in VERBS]
    unbuilt = ", ".join(f"`{' '.join(path)}`" for path in NOT_BUILT)
    parts.append(f"## Not built yet\n\nRefused by name, with code `not_built`: {unbuilt}.\n")
    return "\n".join(parts)


def _exit_codes() -> str:
    rows = ["| exit | means | codes |", "| --- | --- | --- |"]
    for number, meaning in _MEANINGS.items():
        codes = " ".join(f"`{code}`" for code, exit_code in EXIT_CODES.items() if exit_code == number)
        rows.append(f"| {number} | {meaning} | {codes} |")
    return "\n".join(rows) + "\n"


def _block(text: str) -> str:
    return f"```text\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
    print(f"{PAGE.name} written")
