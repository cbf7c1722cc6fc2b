"""Plain processes: how they end, what they are told, and what others can see of that."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from swarm.errors import BackendError
from swarm.storage.processes import start_ticks
from swarm.testing.wait import eventually
from tests.support.backends import Bed

pytestmark = pytest.mark.timeout(60)

KEY = "sk-ant-very-secret"


async def test_a_killed_process_is_noticed_reaped_and_told_of(process_bed: Bed) -> None:
    """Without a zombie: the number is free again."""
    await process_bed.start("w2")
    pid = process_bed.pid("w2")

    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not process_bed.backend.is_alive("w2"), 5)

    assert not Path(f"/proc/{pid}").exists()
    assert process_bed.backend.failure("w2") == "it was ended by SIGKILL"
    assert process_bed.backend.failure("w4") is None


async def test_what_a_process_printed_last_is_why_it_ended(process_bed: Bed) -> None:
    """The sentence of an error, not the whole log; also that of a life before is not taken for it."""
    log = Path(process_bed.team.layout.log("w2"))
    log.write_text("error: of a life before\n")
    spec = process_bed.live.spec("w2", backend="process", team="none")

    await process_bed.backend.spawn(spec)
    await eventually(lambda: not process_bed.backend.is_alive("w2"), 15)

    told = str(process_bed.backend.failure("w2"))
    assert told.startswith("it ended with exit code 3: error: ")
    assert "none" in told
    assert log.read_text().startswith("error: of a life before\n")


async def test_others_see_no_key_and_nothing_that_was_not_meant(process_bed: Bed) -> None:
    """Arguments are public, and an environment is handed on."""
    environ = {**process_bed.live.environ, "ANTHROPIC_API_KEY": KEY, "GITHUB_TOKEN": KEY, "PYTHONPATH": "/x"}
    spec = await process_bed.spawn("w2", environ=environ)
    await eventually(lambda: process_bed.record("w2").state != "starting", 15)

    process = Path(f"/proc/{process_bed.pid('w2')}")
    assert KEY.encode() not in (process / "cmdline").read_bytes()
    inherited = (process / "environ").read_bytes().split(b"\0")
    assert f"SWARM_RUN_ID={spec.run_id}".encode() in inherited
    assert [line for line in inherited if KEY.encode() in line or line == b"PYTHONPATH=/x"] == []
    assert os.listdir(process_bed.team.layout.spawn_dir) == []


async def test_it_leads_a_session_of_its_own_and_leaves_interrupts_to_others(process_bed: Bed) -> None:
    """Ctrl-C in the leader's terminal is the leader's: it asks its teammates itself."""
    await process_bed.start("w2")
    pid = process_bed.pid("w2")

    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    os.kill(pid, signal.SIGINT)
    await asyncio.sleep(0.3)

    assert process_bed.backend.is_alive("w2")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_these_signals_are_the_order_to_stop(process_bed: Bed, number: signal.Signals) -> None:
    """In the middle of a task, too: it is given back, and its command ended."""
    await process_bed.start("w1")
    await process_bed.live.until_file("began")

    os.kill(process_bed.pid("w1"), number)
    await eventually(lambda: not process_bed.backend.is_alive("w1"), 15)

    assert process_bed.backend.failure("w1") is None
    assert process_bed.record("w1").reason == "asked"
    assert process_bed.live.task("long").status == "pending"
    assert process_bed.marked() == []


async def test_a_start_that_fails_leaves_nothing(process_bed: Bed) -> None:
    """No file with keys, no process; the error names what is missing."""
    shutil.rmtree(process_bed.live.workspace)

    with pytest.raises(BackendError, match=f"w2 was not started: {process_bed.live.workspace}") as caught:
        await process_bed.spawn("w2")

    assert caught.value.exit_code == 4
    assert os.listdir(process_bed.team.layout.spawn_dir) == []
    assert process_bed.backend.list_alive() == ()


async def test_process_and_log_stand_in_the_record_before_it_is_ready(process_bed: Bed) -> None:
    """Whoever finds the record can tell whether there is still somebody to wait for."""
    await process_bed.spawn("w2")

    record = process_bed.record("w2")
    assert record.pid is not None
    assert record.start_ticks == start_ticks(record.pid)
    assert record.handle == {"log": process_bed.team.layout.log("w2")}
    await eventually(lambda: process_bed.record("w2").state == "idle", 15)
    assert process_bed.record("w2").handle == record.handle


async def test_a_spawn_file_that_nobody_read_goes_with_the_process(process_bed: Bed) -> None:
    """It holds keys."""
    await process_bed.spawn("w2")
    await process_bed.backend.kill(timeout=5, names=["w2"])

    assert os.listdir(process_bed.team.layout.spawn_dir) == []


async def test_a_process_that_another_leader_left_is_killed_as_one_of_ours(process_bed: Bed) -> None:
    """With the commands that it runs; nobody needs to be its parent for that."""
    await process_bed.start("w1")
    await process_bed.live.until_file("began")
    other = process_bed.another_backend()
    assert other.adopt(process_bed.record("w1"))

    await other.kill(timeout=5)

    assert other.list_alive() == ()
    assert other.failure("w1") == "its process is gone"
    assert process_bed.marked() == []
