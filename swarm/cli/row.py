"""One line of a question before it is laid out."""

from __future__ import annotations

from swarm.values import Value


class Row(Value):
    """A line and the mark before it, which no text can imitate: it stands in a column of its own.

    `own`: these are the program's words, and the agent had no say in them. `tabs`: a line of a file.
    """

    text: str
    mark: str = ""
    style: str = ""
    own: bool = False
    tabs: bool = False
