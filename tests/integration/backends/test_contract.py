"""What every backend promises, whichever it is: start, look, ask, kill, leave nothing."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from swarm.core.identity import make_run_id
from swarm.errors import BackendError
from swarm.storage.processes import liveness
from swarm.testing.wait import eventually
from tests.support.backends import DEAF, Bed

pytestmark = pytest.mark.timeout(60)


async def until_began(bed: Bed) -> None:
    """Wait until w1 is in the middle of its task, with a command running."""
    await bed.live.until_file("began")


async def test_a_teammate_that_was_started_reports_who_it_is(bed: Bed) -> None:
    """Who it is and that it is ready stands in its record; the backend says the same."""
    await bed.start("w2", "w3")

    assert bed.backend.list_alive() == ("w2", "w3")
    assert bed.backend.is_alive("w2")
    assert not bed.backend.is_alive("w4")
    record = bed.record("w2")
    assert (record.run_id, record.backend, record.state) == (bed.live.run_id("w2"), bed.kind, "idle")
    assert liveness(record) == "alive"
    assert (record.pid == os.getpid()) is not bed.own_process


async def test_a_running_name_is_refused(bed: Bed) -> None:
    """One life at a time; the one that runs is not touched."""
    await bed.start("w2")
    pid = bed.pid("w2")

    with pytest.raises(BackendError, match="running already") as caught:
        await bed.backend.spawn(bed.live.spec("w2", 2, backend=bed.kind))

    assert caught.value.code == "agent_alive"
    assert bed.backend.list_alive() == ("w2",)
    assert bed.pid("w2") == pid
    assert os.listdir(bed.team.layout.spawn_dir) == []


async def test_stop_asks_first_and_names_nobody_who_obeys(bed: Bed) -> None:
    """Asked, a teammate ends its tool, gives its task back and says that it has stopped."""
    await bed.start("w1", "w2")
    await until_began(bed)

    late = await bed.backend.stop(timeout=10)

    assert late == ()
    assert bed.backend.list_alive() == ()
    assert [(bed.record(name).state, bed.record(name).reason) for name in ("w1", "w2")] == [
        ("stopped", "asked")
    ] * 2
    task = bed.live.task("long")
    assert (task.status, task.attempts, task.crashes) == ("pending", 0, 0)
    assert bed.backend.failure("w1") is None


async def test_stop_kills_and_names_who_does_not_hear(bed: Bed) -> None:
    """A deadline is a deadline."""
    await bed.start(DEAF, "w2")

    late = await bed.backend.stop(timeout=5)  # on a busy machine one that obeys takes its time, too

    assert late == (DEAF,)
    assert bed.backend.list_alive() == ()


async def test_asking_is_repeatable_and_needs_nobody(bed: Bed) -> None:
    """Whoever asks need not know who is still there."""
    await bed.start("w2")
    for name in ("w2", "w2", "w4", "nobody"):
        bed.backend.ask_to_stop(name)
    await eventually(lambda: not bed.backend.is_alive("w2"), 10)

    bed.backend.ask_to_stop("w2")
    bed.backend.hint()
    assert bed.record("w2").reason == "asked"
    assert await bed.backend.stop(timeout=1) == ()


async def test_kill_ends_the_named_with_all_they_started_and_nobody_else(bed: Bed) -> None:
    """Also what went to the background in a session of its own."""
    await bed.start("w1", "w2")
    await until_began(bed)

    await bed.backend.kill(timeout=10, names=["w1"])

    assert bed.backend.list_alive() == ("w2",)
    assert bed.marked() == ([bed.pid("w2")] if bed.own_process else [])


async def test_the_next_life_of_a_name_can_be_started(bed: Bed) -> None:
    """After the end of one the record becomes the next one's."""
    await bed.start("w2")
    await bed.backend.stop(timeout=10)

    await bed.start("w2", life=2)

    assert bed.backend.list_alive() == ("w2",)
    assert bed.record("w2").run_id == make_run_id(bed.live.run, "w2", 2)


async def test_a_teammate_that_cannot_be_says_so_and_is_gone(bed: Bed) -> None:
    """What it was told makes no sense: its record says that it failed, and nothing keeps running."""
    await bed.spawn("w2", permission_mode="nonsense")

    await eventually(lambda: not bed.backend.is_alive("w2"), 15)

    assert (bed.record("w2").state, bed.record("w2").reason) == ("stopped", "failed")
    assert os.listdir(bed.team.layout.spawn_dir) == []


async def test_a_living_teammate_is_adopted_where_it_can_outlive_its_leader(bed: Bed) -> None:
    """Another leader goes on with it as if it had started it; a task in a process ends with that process."""
    await bed.start("w2")
    other = bed.another_backend()

    assert other.adopt(bed.record("w2")) is bed.own_process

    if bed.own_process:
        assert other.list_alive() == ("w2",)
        assert await other.stop(timeout=10) == ()
        assert bed.record("w2").reason == "asked"
        assert not bed.backend.is_alive("w2")


async def test_nobody_is_adopted_who_is_gone_or_of_another_kind(bed: Bed) -> None:
    """A pid that means another process now is not taken for a teammate."""
    await bed.start("w2")
    record = bed.record("w2")
    other = bed.another_backend()

    assert not other.adopt(record.replace(start_ticks=1))
    assert not other.adopt(record.replace(backend="elsewhere"))
    assert not other.adopt(record.replace(state="stopped"))
    assert not other.adopt(record.replace(pid=None, start_ticks=None))
    assert other.list_alive() == ()


async def test_cleanup_may_be_repeated_and_leaves_the_living(bed: Bed) -> None:
    await bed.start("w2")
    await bed.backend.cleanup()
    await bed.backend.cleanup()

    assert bed.backend.list_alive() == ("w2",)
    await bed.backend.stop(timeout=10)
    await bed.backend.cleanup()
    await bed.backend.cleanup()


@pytest.mark.timeout(180)
async def test_rounds_of_start_and_stop_leave_nothing(bed: Bed) -> None:
    """Processes, zombies, descriptors and files are as many after the last round as after the first."""
    names = ("w1", "w2", "w3", "w4")
    bed.team.tasks("user").cancel("1", "not needed here")
    seen = []
    for life in range(1, bed.rounds + 1):
        await bed.start(*names, life=life)
        await eventually(lambda: have_told(bed) >= set(names), 15, what="all have said that they are idle")
        assert await bed.backend.stop(timeout=10) == ()
        await bed.backend.cleanup()
        gc.collect()
        seen.append((_children(), _files(bed), len(os.listdir("/proc/self/fd"))))

    assert bed.marked() == []
    assert seen[-1][:2] == seen[0][:2]
    descriptors = [count for _, _, count in seen]
    assert max(descriptors[-5:]) <= max(descriptors[:5])  # a few come and go with the event loop's helpers


def have_told(bed: Bed) -> set[str]:
    """Name those who have written to the leader once, which makes files that stay."""
    return {message.sender for message in bed.live.mail()}


def _files(bed: Bed) -> list[str]:
    tops = (bed.team.layout.team_dir, bed.team.layout.tasks_dir)
    return sorted(str(path) for top in tops for path in Path(top).rglob("*"))


def _children() -> list[str]:
    """Return our child processes, zombies too."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return path.read_text().split()
