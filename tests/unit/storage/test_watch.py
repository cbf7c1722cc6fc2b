"""Hints: about the files that were asked for, however they change, and never a reason to fail."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import inotify_simple
import pytest

from swarm.storage.watch import Watch, files_of_agents

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    path.write_text("1\n")
    return path


@pytest.fixture
def watch(journal: Path):
    with Watch([str(journal)]) as made:
        assert made.problem is None
        yield made


def inotify_descriptors() -> list[int]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if "inotify" in os.readlink(link):
                found.append(int(link.name))
    return found


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("2\n")


def replace(path: Path) -> None:
    draft = path.with_name(".draft")
    draft.write_text("new\n")
    draft.rename(path)


@pytest.mark.parametrize("change", [append, replace])
def test_a_change_is_a_hint_once(watch: Watch, journal: Path, change) -> None:
    assert watch.take() is False
    change(journal)

    assert watch.take() is True
    assert watch.take() is False


def test_a_replaced_file_is_still_watched(watch: Watch, journal: Path) -> None:
    """A rewritten journal is another inode under the same name."""
    replace(journal)
    watch.take()
    append(journal)

    assert watch.take() is True


def test_a_file_that_comes_later_is_watched(tmp_path: Path) -> None:
    """An overflow file is there only while it is needed."""
    with Watch([str(tmp_path / "later")]) as watch:
        (tmp_path / "later").write_text("x")

        assert watch.take() is True


def test_other_files_of_the_folder_and_below_are_none(watch: Watch, journal: Path, tmp_path: Path) -> None:
    append(tmp_path / "other")
    replace(tmp_path / "another")
    (tmp_path / "below").mkdir()
    append(tmp_path / "below" / journal.name)

    assert watch.take() is False


def test_several_files_of_one_folder_and_of_others(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [tmp_path / "one", tmp_path / "two", tmp_path / "b" / "three"]
    with Watch(map(str, paths)) as watch:
        for path in paths:
            path.write_text("x")
            assert watch.take() is True


def test_a_folder_that_is_not_there_is_no_problem(tmp_path: Path, journal: Path) -> None:
    with Watch([str(tmp_path / "none" / "x"), str(journal)]) as watch:
        append(journal)

        assert watch.problem is None
        assert watch.take() is True


def test_a_folder_that_goes_is_a_hint(tmp_path: Path) -> None:
    """Its team was deleted: time to look."""
    folder = tmp_path / "gone"
    folder.mkdir()
    with Watch([str(folder / "x")]) as watch:
        folder.rmdir()

        assert watch.take() is True


def test_a_full_queue_means_look_at_everything(watch: Watch, tmp_path: Path) -> None:
    """What the kernel dropped may have been about any file."""
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    one, two = (os.open(tmp_path / name, os.O_WRONLY | os.O_CREAT) for name in ("a", "b"))
    try:
        for _ in range(limit // 2 + 1):  # in turns: equal neighbours are one event
            os.write(one, b"x")
            os.write(two, b"x")
    finally:
        os.close(one)
        os.close(two)

    assert watch.take() is True
    assert watch.take() is False


def test_waiting_ends_at_a_hint(watch: Watch, journal: Path) -> None:
    writer = subprocess.Popen(["sh", "-c", f"sleep 0.05; echo 3 >> {journal}"])
    started = time.monotonic()
    try:
        assert watch.wait(10) is True
        assert time.monotonic() - started < 5
    finally:
        writer.wait()


def test_waiting_goes_on_at_changes_of_other_files(watch: Watch, journal: Path) -> None:
    append(journal.with_name("other"))
    started = time.monotonic()

    assert watch.wait(0.05) is False
    assert time.monotonic() - started >= 0.04


def test_a_hint_that_is_there_already_costs_no_waiting(watch: Watch, journal: Path) -> None:
    append(journal)

    assert watch.wait(0) is True


async def test_a_hint_reaches_the_event_loop_and_no_longer_than_wanted(watch: Watch, journal: Path) -> None:
    hint = asyncio.Event()
    with watch.telling(asyncio.get_running_loop(), hint.set):
        append(journal)
        await asyncio.wait_for(hint.wait(), timeout=5)
    hint.clear()
    append(journal)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert not hint.is_set()
    assert watch.take() is True


@pytest.mark.parametrize(
    ("number", "named"), [(errno.EMFILE, "max_user_instances"), (errno.ENFILE, "open files")]
)
async def test_without_an_instance_time_passes_and_the_problem_is_told(
    journal: Path, monkeypatch: pytest.MonkeyPatch, number: int, named: str
) -> None:
    def refuse(self, **options) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(inotify_simple.INotify, "__init__", refuse)
    with Watch([str(journal)]) as watch:
        append(journal)

        assert named in str(watch.problem)
        assert watch.wait(0.001) is False
        with watch.telling(asyncio.get_running_loop(), pytest.fail):
            await asyncio.sleep(0)


def test_without_a_watch_the_instance_is_closed_again(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self, path, mask) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(inotify_simple.INotify, "add_watch", refuse)
    with Watch([str(journal)]) as watch:
        assert "max_user_watches" in str(watch.problem)
        assert inotify_descriptors() == []


def test_another_system_has_no_hints_and_no_problem(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "plan9")
    with Watch([str(journal)]) as watch:
        append(journal)

        assert watch.problem is None
        assert watch.take() is False


def test_no_child_inherits_the_descriptor_and_none_is_left(journal: Path) -> None:
    watch = Watch([str(journal)])
    (own,) = inotify_descriptors()
    try:
        assert not os.get_inheritable(own)
    finally:
        watch.close()
        watch.close()

    assert inotify_descriptors() == []


def test_importing_the_module_does_not_load_the_binding() -> None:
    """Verbs that never wait do not pay for it."""
    code = "import sys, swarm.storage.watch; sys.exit('inotify_simple' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_agent_looks_at_the_journal_and_its_own_mail(team) -> None:
    layout = team.layout

    assert files_of_agents(layout, ["w1"]) == [layout.journal, layout.inbox("w1"), layout.overflow("w1")]
