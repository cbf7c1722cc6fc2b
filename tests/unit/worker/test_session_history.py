"""What a transcript of earlier sessions means for the next one."""

from __future__ import annotations

import itertools

from swarm.core.transcript import (
    Position,
    assistant_line,
    call_line,
    end_line,
    note_line,
    result_line,
    start_line,
    user_line,
)
from tests.support.models import check_array
from worker.messages import (
    assistant_message,
    blocks_of,
    final_text,
    text_block,
    tool_result,
    tool_use,
    user_message,
)
from worker.session.history import (
    carried_mail,
    fold_session,
    mail_blocks,
    mail_outside,
    paths_written,
    session_to_continue,
)
from worker.session.recall import began_since, begun_calls, ended_by_model, files_seen, last_time

CALL = tool_use("t1", "Bash", {"command": "make"})


class Pen:
    """Writes the lines of one session."""

    def __init__(self, lines: list, session: str, task: str = "7") -> None:
        self._lines = lines
        self._session = session
        self._task = task
        self._numbers = itertools.count(1)

    def _at(self) -> Position:
        return Position(
            session=self._session, n=next(self._numbers), time="", run_id="r.w.1", task=self._task
        )

    def start(self, **facts):
        self._lines.append(start_line(self._at(), **({"cause": "claim", "model": "scripted"} | facts)))
        return self

    def attempts(self, count):
        self._lines.append(note_line(self._at(), what="retry", text="", data={"attempts": count}))
        return self

    def user(self, *texts, ids=()):
        self._lines.append(user_line(self._at(), message=user_message(*texts), msg_ids=ids))
        return self

    def says(self, *blocks):
        line = assistant_line(self._at(), message=assistant_message(*blocks), stop_reason="", usage={})
        self._lines.append(line)
        return self

    def result(self, text):
        self._lines.append(result_line(self._at(), block=tool_result("t1", text), elapsed_seconds=0.1))
        return self

    def call(self, block):
        self._lines.append(call_line(self._at(), block=block))
        return self

    def note(self, what):
        self._lines.append(note_line(self._at(), what=what, text=""))
        return self

    def end(self, why):
        self._lines.append(end_line(self._at(), why=why, outcome="released"))
        return self


def texts_of(messages):
    return [[block.get("text", block["type"]) for block in blocks_of(one)] for one in messages]


def test_mail_after_the_last_answer_is_carried() -> None:
    """The request that held it was cut off: nobody knows whether the model ever read it."""
    lines: list = []
    Pen(lines, "a").start().user("go").user("old", ids=["m1"]).says("Hm.").user(
        "new", "newer", ids=["m2", "m3"]
    )

    assert carried_mail(lines) == ("m2", "m3")


def test_mail_that_was_answered_is_not_carried() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go").user("mail", ids=["m1"]).says("Done.").end("completed")

    assert carried_mail(lines) == ()


def test_mail_is_carried_on_until_some_request_with_it_was_answered() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go").user("mail", ids=["m1"])
    Pen(lines, "b", task="8").start(carried=["m1"]).user("other task").user("more", ids=["m2"])

    assert carried_mail(lines) == ("m1", "m2")

    Pen(lines, "c", task="9").start(carried=["m1", "m2"]).user("third task").says("Read it.")

    assert carried_mail(lines) == ()


def test_text_of_mail_is_found_by_its_id() -> None:
    lines: list = []
    Pen(lines, "a").start().user("one", "two", ids=["m1", "m2"])

    assert mail_blocks(lines, ["m2", "unknown"]) == [text_block("two")]


def test_a_session_without_end_is_continued() -> None:
    """The process was killed in it."""
    lines: list = []
    Pen(lines, "a").start().user("go").says(CALL)

    assert session_to_continue(lines, "7", attempts=0) == "a"
    assert session_to_continue(lines, "8", attempts=0) is None


def test_a_stopped_session_is_continued_and_one_that_ended_by_itself_is_not() -> None:
    for why, expected in (
        ("aborted_tools", "a"),
        ("aborted_verify", "a"),
        ("model_error", None),
        ("completed", None),
        ("fault", None),
        ("claim_lost", None),
    ):
        lines: list = []
        Pen(lines, "a").start().user("go").end(why)
        assert session_to_continue(lines, "7", attempts=0) == expected, why


def test_only_a_session_of_the_same_attempt_is_continued() -> None:
    """A new attempt starts anew, also when ours was cut off and somebody else's failed after it."""
    lines: list = []
    Pen(lines, "a").start().user("go")
    assert session_to_continue(lines, "7", attempts=1) is None

    Pen(lines, "b").start(cause="retry").attempts(1).user("go")
    assert session_to_continue(lines, "7", attempts=1) == "b"
    assert session_to_continue(lines, "7", attempts=2) is None


def test_work_on_other_tasks_in_between_does_not_matter() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go").end("aborted_streaming")
    Pen(lines, "b", task="8").start().user("other").says("Done.").end("completed")

    assert session_to_continue(lines, "7", attempts=0) == "a"


def test_folding_goes_through_the_whole_chain_and_answers_cut_calls() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go").says(CALL)
    Pen(lines, "x", task="8").start().user("other task").says("Done.").end("completed")
    Pen(lines, "b").start(cause="resume", parent="a").user("go on").says("Going on.").end("aborted_streaming")
    Pen(lines, "c").start(cause="resume", parent="b").user("go on again")

    messages = fold_session(lines, "c")

    check_array(messages)
    assert texts_of(messages) == [
        ["go"],
        ["tool_use"],
        ["tool_result", "go on"],
        ["Going on."],
        ["go on again"],
    ]
    assert messages[2]["content"][0]["is_error"]


def test_a_real_result_is_kept_when_a_session_is_folded() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go").says(CALL).user("mail", ids=["m1"]).result("built")

    messages = fold_session(lines, "a")

    assert messages[-1] == user_message(tool_result("t1", "built"), "mail")


def test_carried_mail_stands_after_the_first_prompt_when_folded() -> None:
    """As it stood in the request: the fold must give the same bytes again."""
    lines: list = []
    Pen(lines, "a", task="8").start().user("other task").user("mail", ids=["m1"])
    Pen(lines, "b").start(carried=["m1"]).user("go").user("fresh", ids=["m2"]).says("Done.")

    messages = fold_session(lines, "b")

    assert texts_of(messages) == [["go", "mail", "fresh"], ["Done."]]


def test_mail_of_the_session_that_is_continued_is_not_repeated() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go").user("mail", ids=["m1"])
    Pen(lines, "x", task="8").start(carried=["m1"]).user("other").user("elsewhere", ids=["m2"])
    assert mail_outside(lines, "a", carried_mail(lines)) == [text_block("elsewhere")]

    Pen(lines, "b").start(parent="a", carried=["m1", "m2"]).user("go on").says("Done.")

    messages = fold_session(lines, "b")
    assert texts_of(messages) == [["go", "mail", "go on", "elsewhere"], ["Done."]]
    assert final_text(messages[-1]) == "Done."


def test_calls_of_an_answer_that_was_lost_are_found_with_their_results() -> None:
    """They were started while it was still coming; the answer itself was never written."""
    lines: list = []
    pen = Pen(lines, "a").start().user("go").says(CALL).result("first")
    pen.call(tool_use("t2", "Bash", {"command": "make"})).call(tool_use("t3", "Read", {}))
    lines.append(result_line(pen._at(), block=tool_result("t3", "text"), elapsed_seconds=0.1))

    begun = begun_calls(lines, "a")

    assert [(one.call["id"], one.result and one.result["content"]) for one in begun] == [
        ("t2", None),
        ("t3", "text"),
    ]
    assert begun_calls(lines, "unknown") == ()


def test_what_such_a_call_wrote_counts_as_written() -> None:
    lines: list = []
    pen = Pen(lines, "a").start().user("go").call(tool_use("t1", "Write", {"file_path": "a.py"}))
    pen.result("done")

    assert paths_written(lines, "7") == ("a.py",)


HANDED_IN = tool_use("t1", "TaskUpdate", {"taskId": "7", "status": "completed"})
GAVE_UP = tool_use("t1", "TaskUpdate", {"taskId": "7", "status": "failed", "reason": "no such file"})


def test_a_task_that_was_ended_by_a_call_is_known_to_the_session_that_goes_on() -> None:
    for call, ending in ((HANDED_IN, ("completed", "")), (GAVE_UP, ("failed", "no such file")), (CALL, None)):
        lines: list = []
        Pen(lines, "a").start().user("go").says(call).result("ends")
        Pen(lines, "b").start(parent="a").user("on").end("aborted_tools")
        Pen(lines, "other").start().user("go").says(HANDED_IN).result("ends")

        assert ended_by_model(lines, "b") == ending


def test_a_call_that_ended_nothing_yet_is_no_end() -> None:
    """It was cut off itself, or only changed a word."""
    lines: list = []
    Pen(lines, "a").start().user("go").says(HANDED_IN)
    renames = tool_use("t1", "TaskUpdate", {"taskId": "7", "subject": "Another"})
    Pen(lines, "b").start().user("go").says(renames).result("changed")

    assert ended_by_model(lines, "a") is None
    assert ended_by_model(lines, "b") is None


def test_what_came_back_counts_from_the_moment_when_the_model_is_told() -> None:
    """Cut off between the check and that, the work is only checked again."""
    lines: list = []
    pen = Pen(lines, "a").start().user("go").says(HANDED_IN).result("ends").note("verify_failed")
    assert ended_by_model(lines, "a") == ("completed", "")

    pen.user("a check failed")
    assert ended_by_model(lines, "a") is None
    pen.says(GAVE_UP)
    assert ended_by_model(lines, "a") is None


def test_the_last_that_was_seen_of_a_file_counts() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go")
    Pen(lines, "b").start(parent="a").user("on")
    for session, path, digest in (("a", "/x", "1"), ("a", "/y", "2"), ("b", "/x", "3"), ("other", "/z", "4")):
        seen = {"path": path, "digest": digest}
        lines.append({"type": "result", "session": session, "block": tool_result("t1", "x"), "seen": seen})

    assert files_seen(lines, "b") == {"/x": "3", "/y": "2"}
    assert files_seen(lines, "a") == {"/x": "1", "/y": "2"}


def test_who_began_later_was_at_it_since() -> None:
    lines: list = []
    Pen(lines, "a").start().user("go")
    for number, line in enumerate(lines):
        line["time"] = f"2026-11-30T12:00:0{number}.000Z"

    assert last_time(lines, "a") == "2026-11-30T12:00:01.000Z"
    assert last_time(lines, "none") == ""
    assert began_since(lines, "7", "2026-11-30T11:59:00.000Z")
    assert not began_since(lines, "7", "2026-11-30T12:00:00.000Z")
    assert not began_since(lines, "8", "")
