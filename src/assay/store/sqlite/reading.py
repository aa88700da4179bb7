"""What clients look at, read from SQLite."""

from collections.abc import Sequence

import apsw
import msgspec

from assay.errors import StoreUnavailable
from assay.store.port import ActivityView, HistoryRow, RunView
from assay.store.rows import Row, activity_of, run_of
from assay.store.views import activity_view

ALL = 2**62


class Reading:
    """Read models over one connection."""

    def __init__(self, connection: apsw.Connection, queries: dict[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    async def run_views(self, ids: Sequence[str]) -> list[RunView]:
        """Runs by id with input and result."""
        runs = [run_of(row) for row in self._rows("runs_by_id", _list(ids))]
        nos = _list([run.no for run in runs])
        payloads = {no: (start, end) for no, start, end in self._rows("run_payloads", nos)}
        return [RunView(run, *payloads[run.no]) for run in runs]

    async def activity_views(self, nos: Sequence[int]) -> list[ActivityView]:
        """Activities by number with input and result."""
        wanted = _list(nos)
        activities = [activity_of(row) for row in self._rows("activities_by_no", wanted)]
        payloads = {row[0]: row[1:] for row in self._rows("activity_payloads", wanted)}
        return [activity_view(activity, *payloads[activity.no]) for activity in activities]

    async def histories(self, run_nos: Sequence[int]) -> list[HistoryRow]:
        """Standing events of these runs."""
        return [HistoryRow(*row) for row in self._rows("histories", _list(run_nos))]

    async def events(
        self, workflow_id: str, *, cursor: int | None, limit: int | None, descending: bool
    ) -> list[HistoryRow]:
        """One page of a history."""
        name = "events_descending" if descending else "events_ascending"
        start = cursor if cursor is not None else (ALL if descending else 0)
        rows = self._rows(name, workflow_id, start, ALL if limit is None else limit)
        return [HistoryRow(*row) for row in rows]

    def _rows(self, name: str, *parameters: object) -> Sequence[Row]:
        try:
            return self._connection.execute(self._queries[name], parameters).fetchall()
        except apsw.Error as error:
            raise StoreUnavailable(f"the database cannot be read: {error}") from error


def _list(values: Sequence[str] | Sequence[int]) -> str:
    return msgspec.json.encode(values).decode()
