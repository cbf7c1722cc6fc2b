"""Names in non-Latin letters all became dashes: projects shared a folder, and went away together."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from swarm.core.identity import check_name, project_folder_name
from swarm.errors import ConfigError


def test_team_names_in_other_letters_are_refused_each_with_its_own_suggestion() -> None:
    suggestions = set()
    for name in ("測試甲", "測試乙"):
        with pytest.raises(ConfigError) as refused:
            check_name(name, "team")
        assert refused.value.code == "bad_name"
        suggestions.add(check_name(refused.value.details["suggestion"], "team"))

    assert len(suggestions) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("測試甲", "測試乙"),
        ("my app", "my-app"),
        ("a/b", "a-b"),
        ("App", "app"),
        ("é", "e\u0301"),
        ("x" * 200 + "1", "x" * 200 + "2"),
    ],
)
def test_two_projects_have_two_folders(one: str, other: str, tmp_path: Path) -> None:
    """Also where file names are compared without regard to case or to how an accent is written."""
    folders = [tmp_path / project_folder_name(f"/srv/{name}") for name in (one, other)]
    assert len({folder.name.casefold() for folder in folders}) == 2
    for folder in folders:
        folder.mkdir()
        (folder / "MEMORY.md").write_text("kept")
    shutil.rmtree(folders[0])

    assert (folders[1] / "MEMORY.md").read_text() == "kept"
