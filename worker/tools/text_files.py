"""Text files as bytes that must survive: what an edit does not name stays as it is.

Text is UTF-8. Bytes that are not are carried through by `surrogateescape`, so they come back the same.
"""

from __future__ import annotations

import os
import re

from swarm.values import Value
from worker.tools.paths import fault_of_kind
from worker.tools.read_state import digest_of

BOM = "\ufeff"
REPLACEMENT = "\ufffd"
_LINE_END = re.compile(r"\r\n|\n|\r")
_SAMPLE_BYTES = 8192
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x08\x1b"))
_CONTROL_SHARE = 0.1


class UnusableFileError(Exception):
    """The file cannot be worked with as text; the message is for the model."""


class LoadedFile(Value):
    """A text file at one instant. `path` is real, `status` was taken before the content was read."""

    path: str
    data: bytes
    status: os.stat_result

    @property
    def digest(self) -> str:
        return digest_of(self.data)

    @property
    def text(self) -> str:
        """The content, line ends and all; encode it with `encode` to get the same bytes."""
        return decode(self.data)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def open_regular(path: str) -> int:
    """Return a descriptor of a regular file, or raise `UnusableFileError`. Never waits for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnusableFileError(f"{path} does not exist; find the right path with Glob.") from None
    except OSError as error:
        raise UnusableFileError(f"{path} cannot be opened: {error.strerror}.") from error
    fault = fault_of_kind(os.fstat(descriptor).st_mode, path)
    if fault:
        os.close(descriptor)
        raise UnusableFileError(fault)
    return descriptor


def load(path: str, max_bytes: int) -> LoadedFile:
    """Return the whole file, or raise `UnusableFileError`: too large, binary, no file."""
    real = os.path.realpath(path)
    descriptor = open_regular(real)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UnusableFileError(
            f"{path} is larger than {max_bytes:,} bytes, too large to be changed here; change it with Bash."
        )
    if is_binary(data[:_SAMPLE_BYTES]):
        raise UnusableFileError(binary_fault(path))
    return LoadedFile(path=real, data=data, status=status)


def binary_fault(path: str) -> str:
    return (
        f"{path} is a binary file; the file tools read and change text only. "
        "Look at it with a fitting program through Bash."
    )


def is_binary(sample: bytes) -> bool:
    """Tell whether the first bytes of a file say that it is no text in any encoding that we can keep."""
    if b"\0" in sample or sample.startswith(b"%PDF-"):
        return True
    control = len(sample) - len(sample.translate(None, _CONTROL))
    return control > len(sample) * _CONTROL_SHARE


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends, whichever these are; a last line end starts no further line."""
    lines = _LINE_END.split(text)
    if lines[-1] == "":
        lines.pop()
    return lines


def line_end_of(text: str) -> str:
    r"""Return the most frequent line end in the text, "\n" if it has none."""
    counts = count_line_ends(text)
    return max(counts, key=lambda end: counts[end]) if any(counts.values()) else "\n"


def count_line_ends(text: str) -> dict[str, int]:
    pairs = text.count("\r\n")
    return {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
