"""Names, agent ids, run ids and tokens.

A name becomes a part of paths, process arguments and mail addresses, so what is accepted is narrow and
checked once, when the name is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from swarm.errors import ConfigError
from swarm.values import Value

LEADER = "team-lead"
USER = "user"
"""A person at the command line."""
RUNTIME = "runtime"
"""Swarm itself, as the author of a change that no agent or person asked for."""
RESERVED_NAMES = frozenset({LEADER, USER, RUNTIME, "main", "leader"})

NAME_MAX = 64
COLORS = ("blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_OTHER_THAN_NAME = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]+", re.ASCII)
_RUN_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # base32 without the letters that look like others
_RUN_BITS = 40
_READABLE_MAX = 48


def is_name(name: str) -> bool:
    """Tell whether this may name a teammate or a team."""
    return bool(_NAME.fullmatch(name)) and name.casefold() not in RESERVED_NAMES


def check_name(name: str, what: str = "teammate") -> str:
    """Return `name` if it may name a teammate or a team, else raise `bad_name` with a name that would do."""
    if is_name(name):
        return name
    reserved = name.casefold() in RESERVED_NAMES
    suggestion = suggest_name(name, what)
    why = "is reserved" if reserved else "may hold A-Z, a-z, 0-9, _ and -, at most 64, the first no sign"
    raise ConfigError(
        f"{what} name {_shown(name)} {why}; try {suggestion}",
        code="bad_name",
        details={"value": name, "suggestion": suggestion},
    )


def suggest_name(text: str, what: str = "teammate") -> str:
    """Return an accepted name that resembles `text`; texts without a Latin letter or digit get a hash."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    slug = _OTHER_THAN_NAME.sub("-", plain).strip("-_")[:NAME_MAX].rstrip("-_")
    if not slug:
        return f"{what}-{_hash8(text)}"
    return f"{slug}-1" if slug.casefold() in RESERVED_NAMES else slug


def same_name(a: str, b: str) -> bool:
    """Names that differ only in case are one name: some file systems cannot tell them apart."""
    return a.casefold() == b.casefold()


def other_spelling(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that this one differs from in case alone."""
    return next((other for other in known if other != name and same_name(other, name)), None)


def agent_id(name: str, team: str) -> str:
    return f"{name}@{team}"


def split_agent_id(text: str) -> tuple[str, str]:
    """Return name and team of `name@team`."""
    name, at, team = text.partition("@")
    if not (name and at and team):
        raise ValueError(f"not an agent id like name@team: {text!r}")
    return name, team


class RunId(Value):
    """One life of one agent. `life` counts restarts; for a claim made at the command line it is `cli`."""

    run: str
    agent: str
    life: str


def make_run_id(run: str, agent: str, life: int | str) -> str:
    return f"{run}.{agent}.{life}"


def parse_run_id(text: str) -> RunId:
    agent = agent_of_run(text)
    run, _, life = text.split(".")
    return RunId(run=run, agent=agent, life=life)


def agent_of_run(text: str) -> str:
    """Return whose life a run id is; ValueError when it is none. For where that is asked all the time."""
    parts = text.split(".")
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - run, agent, life
        raise ValueError(f"not a run id like k3v9qd7m.builder-1.1: {text!r}")
    return parts[1]


def is_later_life(run_id: str, than: str) -> bool:
    """Whether both are lives of one agent in one run, and the first began after the second."""
    later, earlier = parse_run_id(run_id), parse_run_id(than)
    if (later.run, later.agent) != (earlier.run, earlier.agent):
        return False
    return later.life.isdigit() and earlier.life.isdigit() and int(later.life) > int(earlier.life)


def encode_run(random: bytes) -> str:
    """Return the first 40 bits of `random` as 8 letters and digits."""
    number = int.from_bytes(random[: _RUN_BITS // 8], "big")
    return "".join(_RUN_ALPHABET[number >> shift & 31] for shift in range(_RUN_BITS - 5, -1, -5))


def make_token(seq: int, run_id: str) -> str:
    """Return the proof of a claim: the number of its journal line and the life that made it."""
    return f"{seq}/{run_id}"


def project_folder_name(real_path: str) -> str:
    """Return a folder name for a project: a readable part, and a hash so that no two paths share one."""
    readable = _NOT_ALPHANUMERIC.sub("-", real_path).strip("-")[-_READABLE_MAX:].lstrip("-")
    return f"{readable or 'project'}-{_hash8(real_path)}"


def color_for(index: int) -> str:
    """Return the colour of the member with this place in spawn order (the leader is not counted)."""
    return COLORS[index % len(COLORS)]


def _shown(name: str) -> str:
    return repr(name if len(name) <= NAME_MAX else f"{name[:NAME_MAX]}…")


def _hash8(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
