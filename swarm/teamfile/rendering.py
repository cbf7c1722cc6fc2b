"""A `TeamFile` as YAML text that reads back equal."""

from __future__ import annotations

from typing import Any

import yaml

from swarm.teamfile.model import TeamFile

_TEXT = "tag:yaml.org,2002:str"
_OTHER_LINE_ENDS = "\r\x85\u2028\u2029"


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks, everything written out: no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_TEXT, text, style=_style_of(text))


def _style_of(text: str) -> str | None:
    if any(character in text for character in _OTHER_LINE_ENDS):
        return '"'  # other styles write them as they are, and they come back as plain line ends
    return "|" if "\n" in text else None


_Dumper.add_representer(str, _represent_text)


def render_team_file(team: TeamFile) -> str:
    """Write the keys in the order of the reference; in tasks and teammates defaults are left out."""
    data = team.model_dump(mode="python", exclude_defaults=True)
    always = {"name": team.name, "description": team.description, "workspace": team.workspace}
    plain = _plain(always | {"isolation": team.isolation, "model": team.model} | data)
    text: str = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
