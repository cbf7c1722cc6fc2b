"""The report that a person reads afterwards, and pastes into a pull request."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from swarm.core.permission import Resolution
from swarm.core.task import Task, TaskResult
from swarm.leader.denied import describe_answer, refused
from swarm.leader.outcome import RunResult, Spending
from swarm.leader.places import Places
from swarm.leader.report import Findings, render_report, shown_duration, write_report
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.questions import NOBODY_ANSWERED, STOPPED_WAITING
from swarm.storage.team import create_team
from tests.support.live_team import git, make_repository

REPORTS = Path(__file__).parent / "reports"
PLACES = Places.of("/home/me/.claude", "/home/me/src/app", "/home/me")
DIFFSTAT = """\
 api/users.py | 12 ++++++------
 api/old.py   |  3 ---
 2 files changed, 6 insertions(+), 9 deletions(-)"""


def a_task(task_id: str, summary: str | None = None, status: str = "completed", **facts: Any) -> Task:
    made = {key: facts.pop(key) for key in ("files", "commit", "not_checked") if key in facts}
    result = None if summary is None else TaskResult(summary=summary, **made)
    return Task(id=task_id, status=status, result=result, **{"subject": f"Task {task_id}", **facts})


def findings(*tasks: Task, description: str = "", **facts: Any) -> Findings:
    about: dict[str, Any] = {"diffstats": {}, "is_repository": True}
    about |= {key: facts.pop(key) for key in tuple(about) if key in facts}
    result: dict[str, Any] = {
        "team": "t1",
        "run": "abcdefgh",
        "outcome": "completed",
        "elapsed_seconds": 192.4,
        "backend": "in-process",
        "denied": (),
        "input_tokens": 81_204,
        "output_tokens": 3_127,
        "report": "/r",
    }
    return Findings(
        result=RunResult(tasks=tasks, **{**result, **facts}), description=description, places=PLACES, **about
    )


def an_answer(outcome: str, command: str = "make dist", via: str = "human", **facts: Any) -> Resolution:
    request = {
        "agent": "w2",
        "task": "2",
        "tool": "Bash",
        "input": {"command": command},
        "why": "no rule allows it.",
        "suggested_rule": f"Bash({command.split(maxsplit=1)[0]}:*)",
    }
    by = "user" if via == "human" else "runtime"
    return Resolution(
        digest=command, outcome=outcome, via=via, at="", request=request, **{"id": "x", "by": by, **facts}
    )


def done() -> Findings:
    """Return what a run leaves in which all went well, but for what was not checked."""
    return findings(
        a_task(
            "1",
            "Renamed `fetch_user` to `load_user` in two files:\n\n"
            "- api/users.py, with its callers\n- api/old.py, which nobody imports",
            subject="Rename it in the API package",
            description="Rename fetch_user to load_user.\nKeep the tests green.",
            owner="builder-1",
            verify=("pytest -q", "ruff check api"),
            commit="9f1c2ab",
            files=("api/users.py", "api/old.py"),
            updated_at="2026-11-30T12:33:00.000Z",
        ),
        a_task(
            "2",
            "\n\n".join(f"Paragraph {number} of a long report." for number in range(1, 10)),
            subject="Tell it in the docs",
            owner="builder-2",
            commit="77aa001",
            attempts=1,
            not_checked=("the links", "verify"),
            updated_at="2026-11-30T12:34:00.000Z",
        ),
        description="Rename fetch_user to load_user everywhere",
        loose=("notes.txt",),
        diffstats={"1": DIFFSTAT},
        spending=Spending(micros=412_000, limit=2_000_000, tasks={"1": 310_000}),
        questions=(
            an_answer("allow", "pip install x", note="but only this once"),
            an_answer("allow", "make test", via="rule", rule="Bash(make test)", by="team-lead"),
        ),
    )


def half_done() -> Findings:
    """Return what an interrupted, unlucky run leaves where there is no git."""
    return findings(
        a_task("1", "Wrote it.", files=("a.py", "b/c.py"), owner="w1", verify=("true",)),
        a_task(
            "2",
            status="failed",
            reason="parked: the check `make` failed",
            attempts=3,
            crashes=1,
            verify=("make",),
        ),
        a_task("3", status="pending", reason="not started: waits for task 2 (failed)"),
        a_task("4", status="cancelled", reason="not wanted"),
        outcome="denied",
        is_repository=False,
        elapsed_seconds=8.31,
        gone={"w2": "no access: the key is not valid"},
        questions=(
            an_answer("deny", note="ask me tomorrow"),
            an_answer("expired", "make clean", via="runtime", note=NOBODY_ANSWERED),
            an_answer("expired", "make clean", via="runtime", note=NOBODY_ANSWERED),
            an_answer("expired", "make wait", via="runtime", note=STOPPED_WAITING, id="y"),
            an_answer("expired", "make wait", via="runtime", note=STOPPED_WAITING, id="z"),
            an_answer("deny", "make lint", via="runtime", note="nobody can be asked"),
        ),
    )


BAD = (
    "Done, @team/admins. Fixes #1, closes:#2, resolves octo/repo#3, Fixes GH-4, closes https://x.invalid/bugs/5\n"
    "/approve\n"
    "# A heading\n"
    "---\n"
    "| a | b |\n"
    "|---|---|\n"
    "</details><script>alert(1)</script><!-- <img src=x onerror=y>\n"
    "[click](javascript:x) ![i](http://x.invalid/i.png) <http://x.invalid> www.x.invalid me@x.invalid\n"
    "[ref]: http://x.invalid\n"
    "[skip ci]\n"
    "Co-authored-by: Eve <eve@x.invalid>\n"
    "`open *b* _i_ ~s~ $1$ &lt; \\ end\n"
    "\u202egnp.exe\u202c \x1b[31mred\x1b[0m and zero\u200bwidth\n"
    "~~~\nnever closed\n"
    "- - - - x\n"
    "        indented\n"
    "> quoted\n"
    "1. one\n"
    "```mermaid\ngraph @team #9\n```\n"
    "`` code with @x and #6 ``\n"
    "It lies in /home/me/src/app/api/a.py, /home/me/.claude/x and file:///home/me/secret."
)


def hostile() -> Findings:
    """Return what a run leaves whose every word tries to do something."""
    return findings(
        a_task("1", BAD, subject="A | b\n# c `d|e` @team #7", owner="w|1", commit="abc", not_checked=(BAD,),
               verify=("grep -q '`' x | cat", "a\nb"), files=("a`b|c",), attempts=1),
        a_task("2", status="failed", reason=BAD, subject=BAD),
        outcome="tasks_failed",
        description=f"{BAD}\n{'long ' * 30}",
        diffstats={"1": " a | 1 +\n ``` @team #8\n 1 file changed"},
        loose=("`x` @team",),
        gone={"w2": BAD},
        questions=(an_answer("deny", f"echo `x` | tee {BAD}", note=BAD),),
    )  # fmt: skip


CASES = {"done": done, "half_done": half_done, "hostile": hostile}


@pytest.mark.parametrize("name", CASES)
def test_the_report_reads_as_it_did(name: str) -> None:
    """The files are made for the eye: look at them when this fails."""
    assert render_report(CASES[name]()) == (REPORTS / f"{name}.md").read_text(encoding="utf-8")


def parsed(text: str) -> list[Any]:
    """Return all pieces of the page as a pull request shows it, and those within a line."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [piece for token in tokens for piece in (token, *(token.children or ()))]


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_others_wrote_acts(name: str) -> None:
    tokens = parsed(render_report(CASES[name]()))
    own_tags = ("<details><summary>", "</details>")

    kinds = {token.type for token in tokens}
    assert not kinds & {"link_open", "image", "html_inline", "strong_link", "s_open", "em_open", "hr"}
    html = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert all(one.startswith(own_tags) and "\n" not in one for one in html)
    assert [one.startswith("</") for one in html] == [False, True] * (len(html) // 2)
    plain = [token.content for token in tokens if token.type == "text"]
    for text in plain:
        for trap in ("@t", "@x", "#1", "#2", "#3", "GH-4", "://", "www.", "#7", "#9", "/approve"):
            assert trap not in text
    assert not any(word in text for text in plain for word in ("\u202e", "\u200b", "\x1b"))


@pytest.mark.parametrize("name", CASES)
def test_the_table_keeps_its_shape(name: str) -> None:
    tokens = parsed(render_report(CASES[name]()))
    heads = sum(token.type == "th_open" for token in tokens)
    cells = sum(token.type == "td_open" for token in tokens)

    assert heads == 7
    assert cells == 7 * len(CASES[name]().result.tasks)
    levels = [token.tag for token in tokens if token.type == "heading_open"]
    assert levels.count("h1") == 1
    assert levels.count("h3") == len(CASES[name]().result.tasks)


@pytest.mark.parametrize("first", ["# Verified", "===", "- - -", "> ok", "1) x", "```", "| a | b |", "#"])
def test_the_first_line_of_a_long_summary_begins_nothing(first: str) -> None:
    text = render_report(findings(a_task("1", f"{first}\n---\n" + "word\n" * 300)))
    before = [token for token in parsed(text.partition("<details>")[0]) if token.type == "heading_open"]
    kinds = {token.type for token in parsed(text)}

    assert [token.tag for token in before] == ["h1", "h2", "h2", "h3"]
    assert not kinds & {"hr", "blockquote_open", "fence"}


@pytest.mark.parametrize("name", CASES)
def test_no_folder_of_this_machine_is_in_it(name: str) -> None:
    text = render_report(CASES[name]())

    assert "/home/me" not in text
    assert "/r\n" not in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("see /home/me/src/app/api/a.py.", "see api/a.py."),
        ("cd /home/me/src/app && make", "cd . && make"),
        ("/home/me/src/app", "."),
        ("/home/me/src/application/a", "~/src/application/a"),
        ("/home/me/.claude/teams/t1/x", "$CLAUDE_CONFIG_DIR/teams/t1/x"),
        ("file:///home/me/x, /home/me.", "file://~/x, ~."),
        ("/home/meow and /etc/hosts", "/home/meow and /etc/hosts"),
    ],
)
def test_folders_of_a_machine_are_named_as_they_are_to_everybody(text: str, told: str) -> None:
    assert PLACES.hidden(text) == told


def test_of_equal_questions_the_last_yes_counts() -> None:
    """What was denied first and allowed when it was asked for again, needs no rule any more."""
    answers = (an_answer("deny"), an_answer("expired", "ls"), an_answer("deny", "ls"), an_answer("allow"))

    assert [(answer.digest, answer.outcome) for answer in refused(answers)] == [("ls", "deny")]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (an_answer("deny", note="not now."), "denied to {}: user said no: not now"),
        (an_answer("deny"), "denied to {}: user said no"),
        (an_answer("deny", via="rule", note="The rule X forbids this call."),
         "denied to {}: The rule X forbids this call"),
        (an_answer("deny", via="rule"), "denied to {}: an answer of the team file says no"),
        (an_answer("deny", via="runtime", note="nobody can be asked"),
         "denied to {}: no rule allows it, and nobody can be asked; this rule would allow it: Bash(make:*)"),
        (an_answer("expired", via="runtime", note=NOBODY_ANSWERED),
         "not answered in time: {}: no rule allows it; this rule would allow it: Bash(make:*)"),
        (an_answer("expired", via="runtime", note=STOPPED_WAITING),
         "left open: {}: the agent was stopped while it waited"),
    ],
)  # fmt: skip
def test_an_answer_is_told_with_its_cause(answer: Resolution, told: str) -> None:
    """A rule is named where one was lacking, not where somebody has decided."""
    assert describe_answer(answer) == told.format("w2, task 2: Bash(make dist)")


@pytest.mark.parametrize("repository", ["none", "broken", "good"])
def test_the_report_does_without_git(tmp_path: Path, repository: str) -> None:
    """Where git refuses to work the files stand in place of what git would say."""
    workspace = tmp_path / "ws"
    make_repository(workspace, {"a.txt": "a\n"})
    root, settings = str(tmp_path / "root"), Settings()
    team = create_team(root, "t1", workspace=str(workspace), settings=settings, clock=SystemClock())
    if repository == "none":
        shutil.rmtree(workspace / ".git")
    elif repository == "broken":
        (workspace / ".git/HEAD").write_text("nonsense")
    commit = git(workspace, "rev-parse", "HEAD").strip() if repository == "good" else "abcd123"
    result = findings(a_task("1", "Did it.", files=("a.txt",), commit=commit)).result
    write_report(team, result.replace(report=team.layout.report))

    text = Path(team.layout.report).read_text(encoding="utf-8")
    assert ("1 file changed" in text) == (repository == "good")
    assert ("- Files: `a.txt`" in text) == (repository != "good")


def test_a_task_without_checks_is_called_unverified() -> None:
    """Done means checked; what nobody checked is said, also where checks were skipped by hand."""
    text = render_report(
        findings(
            a_task("1", "S1", verify=("true",)),
            a_task("2", "S2"),
            a_task("3", "S3", verify=("true",), not_checked=("verify",)),
        )
    )

    assert "3 of 3 tasks completed, 1 of them verified." in text
    assert "- Checked by: `true`" in text
    for task in "23":
        assert f"- Task {task} is unverified: no check of its own has passed" in text
    assert "- Checks, not passed: `true`" in text


@pytest.mark.parametrize(
    ("spending", "told"),
    [
        (Spending(), "- cost: \\$0.00\n"),
        (Spending(micros=1_250_000, tasks={"1": 250_000}), "- cost: \\$1.25\n"),
        (Spending(micros=1_250_000, limit=5_000_000), "- cost: \\$1.25 of \\$5.00\n"),
        (
            Spending(micros=10_000, reserved=35_000, limit=5_000_000),
            "- cost: \\$0.01 of \\$5.00; up to \\$0.04 more for calls whose end nobody saw\n",
        ),
        (Spending(unpriced=3), "- cost: \\$0.00; without 3 calls of models whose price is not known\n"),
    ],
)
def test_the_cost_is_told_with_what_is_not_known_of_it(spending: Spending, told: str) -> None:
    text = render_report(findings(a_task("1", "S1"), spending=spending))

    assert told in text
    assert ("| \\$0.25 |" in text) == bool(spending.tasks)


@pytest.mark.parametrize(
    ("seconds", "told"), [(8.31, "8.3 s"), (192.4, "3 min 12 s"), (7_500.0, "2 h 5 min"), (59.99, "60.0 s")]
)
def test_durations_are_told_in_words(seconds: float, told: str) -> None:
    assert shown_duration(seconds) == told
