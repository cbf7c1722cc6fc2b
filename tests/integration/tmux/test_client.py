"""The client over `tmux`, against real servers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from swarm.backends.tmux_client import MISSING, NO_SERVER, NO_SPACE, SILENT, Pane, TmuxError
from swarm.backends.tmux_socket import own_pane, own_socket
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.private_tmux import HARSH_CONF, SLEEP, needs_tmux, private_tmux, wrap_tmux

pytestmark = needs_tmux
ARGV = ("env", "-i", "MARK=r1.w1.1", "sleep", "300")
HOW = {"mark": "MARK=r1.w1.1", "cwd": "/"}
NEW = {**HOW, "label": "demo.1"}
EVERY_THIRD = """
n=$(($(cat $D/n 2>/dev/null || echo 0) + 1)); echo $n > $D/n
if [ $((n % 3)) = 0 ]; then DONE echo "lost server: Broken pipe" >&2; exit 1; fi
exec $REAL "$@"
"""


def cmdline(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]


def until_runs(pane: Pane, program: str) -> None:
    wait_until(lambda: cmdline(pane.pid)[:1] == [program], timeout=5, what=f"{program} runs in {pane.id}")


def test_program_is_started_without_shell(server_at, tmux):
    """Every byte of an argument arrives, whatever it would mean to a shell or to tmux."""
    odd = ["ssh -t h", "-t", "-l", "a;", ";", "\\;", "C-c", "`x`", "$HOME", "#{pane_id}", "ü☃\t\n", ""]
    argv = (sys.executable, "-c", "import time; time.sleep(300)", *odd)
    server = server_at()
    first = server.new_session("s", argv, mark="none", cwd="/", label="demo.1")
    second = server.split(first.window, argv, mark="none", cwd="/")
    third = server.new_window(first.session, "w", argv, mark="none", cwd="/", label="demo.1")

    for pane in (first, second, third):
        until_runs(pane, sys.executable)
        assert cmdline(pane.pid)[3:] == odd


def test_no_server_is_an_answer(server_at):
    server = server_at()

    assert server.list_panes() == ()
    assert server.find_pane("%0") is None
    assert server.find_windows("x") == ()
    assert server.server_pid() is None
    server.close_pane("%0", 1)
    assert server.end_if_empty()
    with pytest.raises(TmuxError) as caught:
        server.new_window("$0", "w", ARGV, **NEW)
    assert caught.value.kind == NO_SERVER


def test_dead_socket_is_no_server_and_is_started_anew(server_at, tmux):
    server = server_at()
    pane = server.new_session("s", ARGV, **NEW)
    pid = server.server_pid()
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: start_ticks(pid) is None, timeout=5, what="the server is gone")

    assert Path(tmux.socket).exists()
    assert server.find_pane(pane.id) is None
    assert server.new_session("s", ARGV, **NEW).id == "%0"


def test_unknown_pane_is_an_answer(server_at):
    server = server_at()
    pane = server.new_session("s", ARGV, **NEW)

    assert server.find_pane(pane.id) == pane
    assert server.find_pane("%99") is None
    assert server.read_pane("%99") == ()


def test_name_taken_by_hand_is_left_alone(server_at, tmux):
    theirs = tmux.session("swarm-demo")

    pane = server_at().new_session("swarm-demo", ARGV, **NEW)

    assert tmux.run("list-panes", "-s", "-t", "=swarm-demo", "-F", "#{pane_id}") == theirs
    assert pane.id != theirs


def test_only_the_pane_of_that_process_is_closed(server_at):
    """Pane ids begin anew in a new server: an old id may mean somebody else's pane."""
    server = server_at()
    pane = server.new_session("s", ARGV, **NEW)

    server.close_pane(pane.id, pane.pid + 1)
    assert server.find_pane(pane.id) == pane
    server.close_pane(pane.id, pane.pid)
    wait_until(lambda: server.find_pane(pane.id) is None, timeout=5, what="the pane is gone")


def test_full_window_says_so_and_keeps_its_panes(server_at, tmux):
    window = tmux.run("display-message", "-p", "-t", tmux.session("a"), "#{window_id}")
    server = server_at()
    made = []
    with pytest.raises(TmuxError) as caught:  # noqa: PT012 - how many fit is for tmux to say
        while True:
            made += [server.split(window, SLEEP, mark="none", cwd="/")]

    assert caught.value.kind == NO_SPACE
    assert len(made) >= 11
    assert set(tmux.panes()) >= {pane.id for pane in made}


def test_focus_and_other_windows_stay(server_at, tmux):
    own = tmux.session("a")
    tmux.run("split-window", "-t", own, "--", *SLEEP)
    before = tmux.look()
    server = server_at()
    session = server.find_pane(own).session

    pane = server.new_window(session, "swarm:demo", ARGV, **NEW)
    other = server.split(pane.window, ARGV, **HOW)
    server.label_pane(other.id, "builder-1")

    assert [line for line in tmux.look() if pane.window not in line.split()] == before
    assert pane.session == session


def test_foreign_titles_confuse_nobody(server_at, tmux):
    own = tmux.session("a\tb:c")
    session = tmux.run("display-message", "-p", "-t", own, "#{session_id}")
    tmux.run("rename-window", "-t", own, "x\ty:z\n%77 $1 @1\n ⌘")
    tmux.run("select-pane", "-t", own, "-T", "t\n$9 @9 %99 1 0\n:\t|")
    tmux.run("new-window", "-d", "-t", f"{session}:", "echo '\n$9 @9 %98 1 0\n'; sleep 300")
    server = server_at()
    pane = server.split(server.find_pane(own).window, ARGV, **HOW)

    assert {seen.id for seen in server.list_panes()} == set(tmux.panes())
    assert len(server.list_panes()) == 3
    assert server.find_started(HOW["mark"]) == pane


def test_passing_failures_are_asked_again(server_at, tmux, tmp_path):
    """Every third call fails before anything was done: no pane is missed, none is made twice."""
    server = server_at(PATH=wrap_tmux(tmp_path / "bin", EVERY_THIRD.replace("DONE", "")))
    pane = server.new_session("s", ARGV, **NEW)
    for number in range(5):
        mark = f"MARK=r1.w{number + 2}.1"
        server.split(pane.window, ("env", "-i", mark, *SLEEP), mark=mark, cwd="/")
        assert server.find_pane(pane.id) == pane

    assert len(tmux.panes()) == 6


def test_pane_made_though_tmux_failed_is_found(server_at, tmux, tmp_path):
    """Every third call fails after it was carried out: what it made is taken, not made again."""
    server = server_at(
        PATH=wrap_tmux(tmp_path / "bin", EVERY_THIRD.replace("DONE", '$REAL "$@" >/dev/null 2>&1;'))
    )
    pane = server.new_session("s", ARGV, **NEW)
    for number in range(5):
        mark = f"MARK=r1.w{number + 2}.1"
        made = server.split(pane.window, ("env", "-i", mark, *SLEEP), mark=mark, cwd="/")
        until_runs(made, "sleep")

    assert len(tmux.panes()) == 6


def test_server_that_does_not_answer_is_given_up(server_at, tmp_path):
    server = server_at(PATH=wrap_tmux(tmp_path / "bin", "exec sleep 30"))
    server._timeout = 0.2

    with pytest.raises(TmuxError) as caught:
        server.list_panes()
    assert caught.value.kind == SILENT


def test_who_is_in_a_hurry_does_not_wait_for_an_answer(server_at, tmp_path):
    """Nor does the command go on that was to bring one."""
    server = server_at(PATH=wrap_tmux(tmp_path / "bin", "echo $$ > $D/pid; exec sleep 30"))
    server._hurry.set()

    with pytest.raises(TmuxError) as caught:
        server.list_panes()
    assert caught.value.kind == SILENT
    told = tmp_path / "bin" / "pid"
    assert not told.exists() or start_ticks(int(told.read_text() or "0")) is None


def test_server_that_goes_while_it_is_asked_is_no_server(server_at, tmp_path):
    server = server_at(PATH=wrap_tmux(tmp_path / "bin", "echo server exited unexpectedly >&2; exit 1"))

    assert server.list_panes() == ()
    server.close_pane("%0", 1)


def test_tmux_that_is_not_there_is_named(server_at, tmp_path):
    with pytest.raises(TmuxError, match="tmux is not installed; use --backend process") as caught:
        server_at(PATH=str(tmp_path)).list_panes()
    assert caught.value.kind == MISSING
    assert caught.value.exit_code == 2


def test_harsh_configuration_changes_nothing(server_at, tmux, isolated_home, tmp_path):
    (isolated_home / ".tmux.conf").write_text(HARSH_CONF)
    server = server_at()
    pane = server.new_session("s", ARGV, **NEW)
    ended = server.split(pane.window, ("sh", "-c", "exit 0"), mark="none", cwd="/")
    failed = server.split(pane.window, ("sh", "-c", "echo no such thing; exit 3"), mark="none", cwd="/")

    wait_until(lambda: server.find_pane(ended.id) is None, timeout=5, what="an orderly end closes its pane")
    wait_until(lambda: server.find_pane(failed.id).dead, timeout=5, what="a failure stays to be read")
    assert server.read_pane(failed.id)[0] == "no such thing"
    known = wait_until(
        lambda: server.how_ended(failed.id, failed.pid), timeout=5, what="how it ended is known"
    )
    assert known == 3
    assert server.how_ended(failed.id, failed.pid + 1) is None
    assert server.how_ended(pane.id, pane.pid) is None
    killed = server.split(pane.window, SLEEP, mark="none", cwd="/")
    until_runs(killed, "sleep")
    os.kill(killed.pid, signal.SIGKILL)
    wait_until(lambda: server.how_ended(killed.id, killed.pid) == -9, timeout=5, what="a kill is seen as one")
    server.close_pane(killed.id, killed.pid)
    assert server.find_pane(pane.id) == pane
    assert server.find_windows("demo.1") == ((pane.session, pane.window),)
    server.close_pane(failed.id, failed.pid)
    server.close_pane(pane.id, pane.pid)
    wait_until(server.end_if_empty, timeout=5, what="a server without panes ends")
    wait_until(lambda: server.server_pid() is None, timeout=5)


def test_the_server_that_a_team_is_given_stays_though_nobody_is_attached(server_at, tmux, isolated_home):
    """`exit-unattached on` means servers of people: ours ended before anybody could look at it."""
    Path(isolated_home, ".tmux.conf").write_text("set -s exit-unattached on\n")
    server = server_at()
    pane = server.new_session("s", ARGV, **NEW)

    until_runs(pane, "sleep")
    assert server.find_pane(pane.id) == pane


@pytest.mark.parametrize("name", ["a;", ";", "a\\;", "#{pane_id};", "a b"])
def test_a_folder_is_the_one_that_it_names(server_at, tmp_path, name):
    """A `;` at the end of any word would end the command for tmux."""
    folder = tmp_path / name
    folder.mkdir()
    server = server_at()
    first = server.new_session("s", ARGV, mark=HOW["mark"], cwd=str(folder), label="demo.1")
    second = server.split(first.window, ARGV, mark="none", cwd=str(folder))

    for pane in (first, second):
        until_runs(pane, "sleep")
        assert Path(f"/proc/{pane.pid}/cwd").readlink() == folder


def test_server_keeps_no_secret(server_at, tmux):
    server = server_at(ANTHROPIC_API_KEY="sk-secret", HTTPS_PROXY="http://me:word@proxy", LC_TIME="C")
    server.new_session("s", ARGV, **NEW)

    kept = tmux.run("show-environment", "-g")
    assert "sk-secret" not in kept
    assert "word" not in kept
    assert "LC_TIME=C" in kept


def test_long_folder_and_signs_in_it(server_at, tmux, tmp_path):
    deep = tmp_path / ("d" * 110) / ("ü#{x} " + "e" * 100)
    deep.mkdir(parents=True)
    pane = server_at(LANG="").new_session("s", ARGV, mark=HOW["mark"], cwd=str(deep), label="demo.1")

    until_runs(pane, "sleep")
    assert os.readlink(f"/proc/{pane.pid}/cwd") == str(deep)


def test_own_pane_is_where_we_run_not_where_a_person_looks(server_at, tmux):
    first, _second = tmux.session("A"), tmux.session("B")
    tmux.run("rename-window", "-t", first, "A")

    found = own_pane(tmux.inside(first), server_at)

    assert found is not None
    server, pane = found
    assert server.socket == tmux.socket
    assert pane.id == first


@pytest.mark.parametrize("stale", ["no server", "another server", "no pane", "nonsense", "unset"])
def test_stale_tmux_is_outside(server_at, tmux, stale):
    inside = tmux.inside(tmux.session("A"))
    socket, pid, session = inside["TMUX"].split(",")
    changed = {
        "no server": {"TMUX": f"{socket}x,{pid},{session}"},
        "another server": {"TMUX": f"{socket},{int(pid) + 1},{session}"},
        "no pane": {"TMUX_PANE": "%99"},
        "nonsense": {"TMUX": "yes"},
        "unset": {"TMUX": ""},
    }
    assert own_pane({**inside, **changed[stale]}, server_at) is None


def test_own_socket_fits_and_is_always_the_same(tmp_path):
    long = own_socket("t" * 64, str(tmp_path), {"TMUX_TMPDIR": "/" + "x" * 200})
    assert long.startswith(f"/tmp/tmux-{os.getuid()}/swarm-ttt")
    assert len(long) <= 100
    assert own_socket("t", "/r", {"TMUX_TMPDIR": "/tmp/a"}) == own_socket(
        "t", "/r", {"TMUX_TMPDIR": "/tmp/a"}
    )
    assert own_socket("t", "/r", {}) != own_socket("t", "/q", {})


def test_two_servers_do_not_meet(tmux, server_at):
    with private_tmux() as other:
        one, two = server_at(), server_at(other.socket)
        Path(other.socket).parent.mkdir(mode=0o700)
        pane = one.new_session("s", ARGV, **NEW)
        assert two.list_panes() == ()
        assert two.new_session("s", ARGV, **NEW).id == pane.id


def test_an_end_that_tmux_has_not_noticed_is_brought_to_its_notice(server_at, monkeypatch):
    """Now and then tmux misses the signal of a child, and keeps a zombie that it knows nothing of."""
    server = server_at()
    pane = server.new_session("s", SLEEP, **NEW)
    pid, told = server.server_pid(), []
    dead = f"{pane.pid} 1  "
    monkeypatch.setattr(server, "_read", lambda *words: (str(pid),) if "#{pid}" in words else (dead,))
    monkeypatch.setattr(os, "kill", lambda *call: told.append(call))

    assert server.how_ended(pane.id, pane.pid) is None
    assert told == [(pid, signal.SIGCHLD)]
