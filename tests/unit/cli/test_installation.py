"""What is found out about the installation, on machines that lack things."""

import sys
from pathlib import Path

import pytest

from swarm.cli import installation
from swarm.cli.installation import Check, check_installation, file_system_of
from swarm.storage import syscalls

MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /home rw shared:1 - nfs4 server:/home rw
31 30 0:41 / /home/my\\040disk rw - tmpfs tmpfs rw
32 22 0:42 / /homer rw - xfs /dev/sdb rw
"""


def by_name(root: Path) -> dict[str, Check]:
    return {check.name: check for check in check_installation(str(root))}


def test_here_all_that_is_needed_is_there(tmp_path: Path) -> None:
    checks = by_name(tmp_path)

    assert [name for name in ("swarm", "worker", "python", "bash", "locks") if not checks[name].is_good] == []


def test_another_package_of_the_name_worker_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker/__init__.py").touch()
    monkeypatch.delitem(sys.modules, "worker", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))

    finding = by_name(tmp_path)["worker"].finding

    assert finding is not None
    assert (finding.kind, finding.path) == ("wrong_package", str(tmp_path / "worker"))


def test_only_bash_cannot_be_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_find_command", lambda name: None)
    checks = by_name(tmp_path)

    levels = {name: checks[name].finding for name in ("bash", "git", "rg", "tmux")}
    assert {name: found and found.warning for name, found in levels.items()} == {
        "bash": False,
        "git": True,
        "rg": True,
        "tmux": True,
    }


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/.claude", "nfs4"),
        ("/home/my disk/x", "tmpfs"),
        ("/homer/x", "xfs"),
        ("/home2", "ext4"),
    ],
)
def test_the_innermost_mount_tells_the_file_system(path: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)

    assert file_system_of(path, str(tmp_path / "mounts")) == kind


def test_where_mounts_cannot_be_read_nothing_is_known(tmp_path: Path) -> None:
    assert file_system_of("/", str(tmp_path / "nosuch")) is None


def test_a_network_file_system_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "file_system_of", lambda root: "nfs4")
    finding = by_name(tmp_path)["root"].finding

    assert finding is not None
    assert (finding.kind, finding.warning) == ("network_file_system", True)


def test_locks_that_do_not_work_are_a_fault(tmp_path: Path) -> None:
    def refuse(call: str, path: str, size: int) -> None:
        if call == "lock":
            raise OSError(95, "Operation not supported")

    with syscalls.fault_hook(refuse):
        finding = by_name(tmp_path)["locks"].finding

    assert finding is not None
    assert (finding.kind, finding.warning) == ("no_locks", False)


def test_locks_that_everybody_gets_are_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems grant each request and keep nobody out."""
    monkeypatch.setattr(syscalls, "lock_now", lambda fd, path: True)
    finding = by_name(tmp_path)["locks"].finding

    assert finding is not None
    assert "two at once" in finding.what


def test_a_root_that_is_not_there_yet_needs_no_locks(tmp_path: Path) -> None:
    assert "locks" not in by_name(tmp_path / "nosuch")
