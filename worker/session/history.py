"""What earlier sessions in a transcript mean for the next one. Pure: lines in, messages out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarm.core.transcript import fold_messages, message_ids
from swarm.permissions.rules import EDITORS
from worker.messages import Block, Message, blocks_of, tool_uses, user_message
from worker.session.transcript import Line

RETRY = "retry"
"""Kind of the note at the start of a session that says which attempt it belongs to."""

ABORTED = "aborted_"


def carried_mail(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the ids of mail that was read but may never have reached the model.

    That is what stands after the last answer of the model: the request that held it was cut off. The
    first request of the next session repeats it.
    """
    ids: list[str] = []
    for line in reversed(lines):
        if line["type"] == "assistant":
            break
        ids[:0] = line.get("msg_ids", ())
    return tuple(ids)


def mail_blocks(lines: Sequence[Line], ids: Sequence[str]) -> list[Block]:
    """Return the text of this mail as the transcript holds it, in the order of `ids`."""
    found = {
        msg_id: block
        for line in lines
        if line["type"] == "user" and line.get("msg_ids")
        for msg_id, block in zip(line["msg_ids"], blocks_of(line["message"]), strict=False)
    }
    return [found[msg_id] for msg_id in ids if msg_id in found]


def mail_outside(lines: Sequence[Line], session: str, ids: Sequence[str]) -> list[Block]:
    """Return the text of this mail as far as it is not in the messages of this session already."""
    return mail_blocks(lines, [one for one in ids if one not in _mail_in(lines, _chain(lines, session))])


def session_to_continue(lines: Sequence[Line], task_id: str, attempts: int) -> str | None:
    """Return the session that the agent's next one on this task goes on from, or None for a fresh start.

    Only one that was cut off, by a kill (it has no last line) or by a stop (`aborted_…`), and that belongs
    to the same attempt. What the agent did for other tasks since then does not matter.
    """
    own = [line for line in lines if line.get("task") == task_id]
    starts = [line["session"] for line in own if line["type"] == "start"]
    if not starts or attempt_of(own, starts[-1]) != attempts:
        return None
    ends = [line for line in own if line["type"] == "end" and line["session"] == starts[-1]]
    cut_off = all(str(line["why"]).startswith(ABORTED) for line in ends)
    return str(starts[-1]) if cut_off else None


def last_task(lines: Sequence[Line]) -> str | None:
    """Return the task of the agent's last session."""
    starts = (line for line in reversed(lines) if line["type"] == "start")
    return next((line["task"] for line in starts if line.get("task")), None)


def attempt_of(lines: Sequence[Line], session: str) -> int:
    """Return how many attempts had failed before this session, as its note says; no note means none."""
    notes = [line for line in lines if line["type"] == "note" and line["session"] == session]
    return next((int(line["data"]["attempts"]) for line in notes if line["what"] == RETRY), 0)


def fold_session(lines: Sequence[Line], session: str) -> list[Message]:
    """Return the messages of a session with those of the sessions that it goes on from."""
    chain = _chain(lines, session)
    return fold_messages(_as_one(lines, chain, session), session)


def paths_written(lines: Sequence[Line], task_id: str) -> tuple[str, ...]:
    """Return the paths, as they were given, that the file tools wrote in all sessions for this task."""
    own = [line for line in lines if line.get("task") == task_id]
    results = [line["block"] for line in own if line["type"] == "result"]
    done = {str(result["tool_use_id"]) for result in results if not result.get("is_error")}
    turns = [line["message"] for line in own if line["type"] == "assistant"]
    calls = [call for message in turns for call in tool_uses(message)]
    calls += [line["block"] for line in own if line["type"] == "call"]
    written = [call["input"] for call in calls if call["name"] in EDITORS and call["id"] in done]
    return tuple(dict.fromkeys(str(given.get("file_path", "")) for given in written))


def _chain(lines: Sequence[Line], session: str) -> tuple[str, ...]:
    """Return a session and those before it, oldest first."""
    parents = {line["session"]: line.get("parent") for line in lines if line["type"] == "start"}
    chain: list[str] = []
    current: str | None = session
    while current is not None and current not in chain:
        chain.append(current)
        current = parents.get(current)
    return tuple(reversed(chain))


def of_chain(lines: Sequence[Line], session: str) -> list[Line]:
    """Return the lines of a session and of those it goes on from."""
    chain = _chain(lines, session)
    return [line for line in lines if line["session"] in chain]


def _mail_in(lines: Sequence[Line], chain: Sequence[str]) -> frozenset[str]:
    return message_ids(line for line in lines if line["session"] in chain)


def _as_one(lines: Sequence[Line], chain: Sequence[str], session: str) -> Iterator[Line]:
    """Yield the lines of the chain as if of one session; carried mail follows the first prompt."""
    own = _mail_in(lines, chain)
    waiting: list[Block] = []
    for line in lines:
        if line["session"] not in chain:
            continue
        if line["type"] == "start":
            waiting = mail_blocks(lines, [one for one in line.get("carried", ()) if one not in own])
            continue
        yield {**line, "session": session}
        if line["type"] == "user" and waiting:
            yield {**line, "session": session, "message": user_message(*waiting)}
            waiting = []
