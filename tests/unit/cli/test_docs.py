"""`docs/cli.md` says what the command says."""

import runpy
from pathlib import Path

from swarm.errors import EXIT_CODES

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_current() -> None:
    """When this fails: python docs/generate_cli.py."""
    made = runpy.run_path(str(DOCS / "generate_cli.py"))

    assert (DOCS / "cli.md").read_text(encoding="utf-8") == made["render_page"]()


def test_the_page_names_every_code() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")

    assert all(f"`{code}`" in page for code in EXIT_CODES)
