"""One kind of row on the desk: what a batch made of activities, or of timers, over the view."""

from typing import Generic, TypeVar

from msgspec.structs import replace

from assay.core.view import Row, Shelf
from assay.model.decision import Change

Journal = list[tuple[dict[object, object], object, object]]
ABSENT = object()
Name = TypeVar("Name")
Value = TypeVar("Value")


def write(journal: Journal, rows: dict[Name, Value], name: Name, value: Value) -> None:
    """Change an entry so that it can be put back."""
    known: dict[object, object] = rows  # type: ignore[assignment] # the journal puts back only what it took
    journal.append((known, name, known.get(name, ABSENT)))
    rows[name] = value


class Layer(Generic[Row]):
    """Rows as they are to be, on top of a shelf of rows as they were."""

    def __init__(self, shelf: Shelf[Row], born_runs: set[int], journal: Journal) -> None:
        self.rows: dict[int, Row | None] = {}
        self._shelf: Shelf[Row] = shelf
        self._born_runs = born_runs
        self._born: set[int] = set()
        self._seqs: dict[int, dict[int, int]] = {}
        self._journal = journal

    def get(self, no: int) -> Row | None:
        """The row of that number as it stands now."""
        return self.rows[no] if no in self.rows else self._shelf.get(no)

    def at(self, run_no: int, seq: int) -> Row | None:
        """The row a run scheduled under that seq, as it stands now."""
        no = self._seqs.get(run_no, {}).get(seq)
        if no is not None and no in self.rows:
            return self.rows[no]
        if run_no in self._born_runs:
            return None
        row = self._shelf.at(run_no, seq)
        return None if row is None else self.get(row.no)

    def live(self, run_no: int) -> list[Row]:
        """Rows of a run that are not over, by seq."""
        found: dict[int, Row | None] = {}
        if run_no not in self._born_runs:
            found = {row.no: row for row in self._shelf.live(run_no)}
        for no in self._seqs.get(run_no, {}).values():
            if no in self.rows:
                found[no] = self.rows[no]
        live = [row for row in found.values() if row is not None and row.is_live]
        live.sort(key=lambda row: row.seq)
        return live

    def add(self, row: Row) -> Row:
        """Keep a row that did not exist before."""
        self._born.add(row.no)
        return self.put(row)

    def put(self, row: Row) -> Row:
        """Keep a row's new state."""
        self._seqs.setdefault(row.run_no, {})[row.seq] = row.no
        write(self._journal, self.rows, row.no, row)
        return row

    def drop(self, row: Row) -> None:
        """Delete a row; its seq is free again."""
        self._seqs.setdefault(row.run_no, {})[row.seq] = row.no
        write(self._journal, self.rows, row.no, None)

    def changes(self) -> tuple[Change[Row], ...]:
        """Every row as it was and as it is to be."""
        changes: list[Change[Row]] = []
        for no, row in self.rows.items():
            before = None if no in self._born else self._shelf.get(no)
            if before is not None and row is not None:
                row = replace(row, ver=before.ver + 1)  # noqa: PLW2901 - the version guards the next write
            if before is not None or row is not None:
                changes.append(Change(before, row))
        return tuple(changes)
