"""Lines between tasks that are listed one below the other, as version control tools draw their history.

A lane is a column that leads down to one task. A task with several dependents forks; a lane to a task that
another lane already leads to joins that lane. So no two lanes lead to the same task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

ASCII = str.maketrans("│─├┤╮╯╭╰┬◂▸✔●✘⊘○·", "|-++.'.'+<>+*x-o.")
"""For terminals that cannot show more; the same width."""


class Lanes:
    """The state between two rows. Every method gives the cells of rows, two characters to a lane."""

    def __init__(self) -> None:
        self._targets: list[str | None] = []

    def spacer(self) -> str:
        """All lanes go on; empty when there are none."""
        return self._row({})

    def place(self, node: str, symbol: str, dependents: Sequence[str]) -> Iterator[str]:
        """The row of this node, then the rows that its lines to its dependents take."""
        column = self._column_of(node)
        yield self._row({column: symbol})
        joined = [self._targets.index(d) for d in dependents if d in self._targets]
        new = [d for d in dependents if d not in self._targets]
        for number, other in enumerate(joined, start=1):
            ends = number == len(joined) and not new
            yield self._join(column, other, ends=ends)
        self._targets[column] = new[0] if new else None
        if len(new) > 1:
            yield self._fork(column, new[1:])
        self._forget_free_columns()

    def _column_of(self, node: str) -> int:
        column = self._targets.index(node) if node in self._targets else self._free_column(0)
        self._targets[column] = node
        return column

    def _free_column(self, start: int) -> int:
        for column in range(start, len(self._targets)):
            if self._targets[column] is None:
                return column
        self._targets.append(None)
        return len(self._targets) - 1

    def _join(self, column: int, other: int, *, ends: bool) -> str:
        left = other < column
        cells = {other: "├" if left else "┤"}
        if ends:
            cells[column] = "╯" if left else "╰"
            return self._row(cells, column, other)
        cells[column] = "┤" if left else "├"
        return self._row(cells, column, other, arrow=(other, "◂") if left else (other - 1, "▸"))

    def _fork(self, column: int, dependents: Sequence[str]) -> str:
        columns = []
        for dependent in dependents:
            columns.append(self._free_column(column + 1))
            self._targets[columns[-1]] = dependent
        cells = dict.fromkeys(columns, "┬") | {max(columns): "╮", column: "├"}
        return self._row(cells, column, max(columns))

    def _row(
        self, cells: Mapping[int, str], start: int = 0, end: int = 0, arrow: tuple[int, str] | None = None
    ) -> str:
        low, high = min(start, end), max(start, end)
        text = ""
        for column, target in enumerate(self._targets):
            inside = low <= column < high
            text += cells.get(column) or ("│" if target else "─" if low < column < high else " ")
            text += arrow[1] if arrow and arrow[0] == column else "─" if inside else " "
        return text.rstrip()

    def _forget_free_columns(self) -> None:
        while self._targets and self._targets[-1] is None:
            self._targets.pop()
