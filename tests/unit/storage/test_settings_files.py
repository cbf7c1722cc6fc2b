"""Whether a folder is trusted stands in Claude Code's own record; anything unclear means no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.storage.settings_files import is_trusted


def record(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def trusts(folder: Path) -> dict[str, Any]:
    return {"numStartups": 3, "projects": {str(folder): {"hasTrustDialogAccepted": True}}}


def test_the_record_is_at_home_or_where_the_variable_says(tmp_path: Path) -> None:
    home, conf, work = tmp_path / "home", tmp_path / "conf", tmp_path / "work"
    work.mkdir()
    record(home / ".claude.json", trusts(work))

    assert is_trusted({"HOME": str(home)}, str(work))
    assert not is_trusted({"HOME": str(home), "CLAUDE_CONFIG_DIR": str(conf)}, str(work))
    record(conf / ".claude.json", trusts(work))
    assert is_trusted({"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(conf)}, str(work))


def test_it_is_this_folder_by_its_real_name_and_none_above_it(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(work)
    record(tmp_path / ".claude.json", trusts(work))
    environ = {"HOME": str(tmp_path)}

    assert is_trusted(environ, str(tmp_path / "link"))
    assert not is_trusted(environ, str(work / "inner"))
    assert not is_trusted(environ, str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        {"projects": []},
        {"projects": {"WORK": True}},
        {"projects": {"WORK": {}}},
        {"projects": {"WORK": {"hasTrustDialogAccepted": "true"}}},
        {"projects": {"WORK": {"hasTrustDialogAccepted": False}}},
        {"WORK": {"hasTrustDialogAccepted": True}},
    ],
)
def test_anything_else_is_no_trust(tmp_path: Path, content: Any) -> None:
    text = (content if isinstance(content, str) else json.dumps(content)).replace("WORK", str(tmp_path))
    record(tmp_path / ".claude.json", text)

    assert not is_trusted({"HOME": str(tmp_path)}, str(tmp_path))
