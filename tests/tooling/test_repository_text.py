"""What the text of this repository must not say, to a stranger who reads it, and how long a module may be."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE_LINES_MAX = 400

# Each pattern is written so that it does not match itself: this file is checked like any other.
BANNED = {
    "a path of one machine": r"(?<![\w.$}~-])/(?:wor[k]|roo[t]|opt/whee[l]s|opt/pyp[i])(?:/|\b(?![-\w]))",
    "a host of a package registry": r"pyp[i]\.org|pythonhoste[d]\.org|registry\.npmj[s]|de[b]\.debian\.org",
    "work that is left to do": r"\b(?:TOD[O]|FIXM[E]|XX[X])\b",
    "the number of an issue": r"(?i)\bissu[e]s?[ /]*#\s*\d|\bissu[e]s?/\d",
    "a folder beside the repository": r"\.\./share[d]",
}


def repository_files() -> list[Path]:
    """Every file that is in the next commit or could be: tracked, or new and not ignored."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("git is not installed, or this is no checkout of it")
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return sorted({path for path in paths if path.is_file() and not path.is_symlink()})


def read_text(path: Path) -> str | None:
    """Return the text of a file, None for a binary one."""
    content = path.read_bytes()
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def find_banned(text: str) -> list[str]:
    """Return line number and reason for each banned phrase."""
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: {reason}: {match.group()!r}"
        for reason, pattern in BANNED.items()
        for match in re.finditer(pattern, text)
    ]


def test_no_file_says_what_only_its_writer_understands() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{finding}"
        for path in repository_files()
        if (text := read_text(path)) is not None
        for finding in find_banned(text)
    ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "see /{}/main/x".format("work"),
        "cd /{}".format("root"),
        "#!/{}/.pyenv/bin/python".format("root"),
        "--find-links /opt/{}".format("wheels"),
        "https://{}.org/project/x".format("pypi"),
        "# {}O: later".format("TOD"),
        "{}E(me): later".format("FIXM"),
        "as {} #12 asks".format("issue"),
        "read ..{}/design.md".format("/shared"),
    ],
)
def test_banned_text_is_found(text: str) -> None:
    assert len(find_banned(f"first line\n{text}\n")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "src/{}/x.py".format("work"),
        "$HOME/{}/x".format("work"),
        "/{}-tree".format("work"),
        "TodoWrite, mastodon",
        "issues a warning for #1",
    ],
)
def test_innocent_text_is_not(text: str) -> None:
    assert find_banned(text) == []


def test_constraints_are_names_and_versions_only() -> None:
    """A lock with addresses would bind every user to one registry."""
    pinned = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.!+_-]*")

    lines = (ROOT / "constraints.txt").read_text().splitlines()

    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_no_module_is_too_long_to_hold_in_the_head() -> None:
    modules = (path for package in ("swarm", "worker") for path in (ROOT / package).rglob("*.py"))
    lengths = {path: path.read_text().count("\n") for path in modules}

    too_long = {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > MODULE_LINES_MAX}

    assert too_long == {}
