"""How much of a result the model gets: above a limit the text goes to a file, with a preview in its place."""

from __future__ import annotations

import errno
import hashlib
import os
import re

from swarm.core.tags import PERSISTED_OUTPUT, block, tool_text
from swarm.settings import Settings
from swarm.values import Value

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Kept(Value):
    """A result as the model will read it. `persisted` is the name of the file that holds the whole of it."""

    text: str
    persisted: str | None = None


def without_blank(text: str, tool: str) -> str:
    """Return the text, or a placeholder for an empty one: a model may take an empty result for the end."""
    return text if text.strip() else f"({tool} completed with no output)"


def encodable(text: str) -> str:
    """Return the text with what UTF-8 cannot hold replaced, so that it can be written and sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def limit_of(max_result_chars: int | None, settings: Settings) -> int | None:
    return None if max_result_chars is None else min(max_result_chars, settings.result_max_chars)


def persist(text: str, call_id: str, folder: str, settings: Settings) -> Kept:
    """Put the text into a file of its own, as it came, and return the preview that names it.

    The same call and text give the same file and preview. When the file cannot be written, the text itself
    is kept, cut to a fixed size. Either way nothing in it acts on the reader.
    """
    try:
        name = _write_once(text.encode(), call_id, folder)
    except OSError:
        return Kept(text=tool_text(_cut(text, settings.result_fallback_max_chars)))
    return Kept(text=_reference(text, os.path.join(folder, name), settings.preview_bytes), persisted=name)


def _write_once(data: bytes, call_id: str, folder: str) -> str:
    """Return the name of the file that holds `data`; other content under that id is left alone."""
    stem = call_id if _SAFE_ID.fullmatch(call_id) else _hash(call_id.encode())
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in (f"{stem}.txt", f"{stem}.{_hash(data)}.txt"):
        path = os.path.join(folder, name)
        if _create(path, data) or _holds(path, data):
            return name
    raise FileExistsError(errno.EEXIST, "other content stands there", folder)


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _create(path: str, data: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        os.unlink(path)
        raise
    return True


def _holds(path: str, data: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(data) + 1) == data


def _reference(text: str, path: str, preview_bytes: int) -> str:
    data = text.encode()
    preview = preview_of(data, preview_bytes)
    lines = [
        f"The output is too large to show ({_size(len(data))}). The whole of it is in this file:",
        tool_text(path),
        "",
        f"Preview (the first {_size(preview_bytes)}):",
        tool_text(preview),
        *(["…"] if len(preview.encode()) < len(data) else []),
    ]
    return block(PERSISTED_OUTPUT, "\n".join(lines))


def preview_of(data: bytes, limit: int) -> str:
    """Return the start of the text: to the last line end in the second half of the limit, if there is one."""
    if len(data) <= limit:
        return data.decode()
    line_end = data.rfind(b"\n", limit // 2, limit)
    return data[: line_end if line_end >= 0 else limit].decode("utf-8", "ignore")


def _size(count: int) -> str:
    return f"{count / 1000:,.1f} KB"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    left_out = f"{len(text) - limit:,} more characters, which could not be saved to a file"
    return f"{text[:limit]}\n[Left out: {left_out}]"
