"""What clients look at, read from PostgreSQL on connections of its own.

A record and its payloads come in one statement, so that they are from one moment.
"""

from collections.abc import Sequence

from assay.store.port import ActivityView, HistoryRow, RunView
from assay.store.postgres.line import Lines, fetch
from assay.store.postgres.loading import storable
from assay.store.rows import ACTIVITY_COLUMNS, RUN_COLUMNS, Row, activity_of, run_of
from assay.store.views import activity_view

ALL = 2**62

RUN_VIEWS = f"""
SELECT {", ".join(f"run.{name}" for name in RUN_COLUMNS)}, started.payload, outcome.payload FROM run
LEFT JOIN event started ON started.run_no = run.no AND started.seq = 1
LEFT JOIN event outcome ON outcome.run_no = run.no AND outcome.seq = run.result_seq
WHERE run.id = ANY($1::text[]) ORDER BY run.no
"""
ACTIVITY_VIEWS = f"""
SELECT {", ".join(f"activity.{name}" for name in ACTIVITY_COLUMNS)},
  run.id, scheduled.payload, outcome.payload
FROM activity JOIN run ON run.no = activity.run_no
LEFT JOIN event scheduled
  ON scheduled.run_no = activity.run_no AND scheduled.seq = activity.scheduled_seq
LEFT JOIN event outcome
  ON outcome.run_no = activity.run_no AND outcome.seq = activity.outcome_seq
WHERE activity.no = ANY($1::bigint[]) ORDER BY activity.no
"""


class Reading:
    """Read models over a few sessions."""

    def __init__(self, lines: Lines, queries: dict[str, str]) -> None:
        self._lines = lines
        self._queries = queries

    async def run_views(self, ids: Sequence[str]) -> list[RunView]:
        """Runs by id with input and result."""
        rows = await self._rows(RUN_VIEWS, list(ids))
        return [RunView(run_of(row[:-2]), row[-2], row[-1]) for row in rows]

    async def activity_views(self, nos: Sequence[int]) -> list[ActivityView]:
        """Activities by number with input and result."""
        rows = await self._rows(ACTIVITY_VIEWS, list(nos))
        return [activity_view(activity_of(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]

    async def histories(self, run_nos: Sequence[int]) -> list[HistoryRow]:
        """Standing events of these runs."""
        rows = await self._rows(self._queries["histories"], list(run_nos))
        return [HistoryRow(*row) for row in rows]

    async def events(
        self, workflow_id: str, *, cursor: int | None, limit: int | None, descending: bool
    ) -> list[HistoryRow]:
        """One page of a history."""
        query = self._queries["events_descending" if descending else "events_ascending"]
        start = cursor if cursor is not None else (ALL if descending else 0)
        rows = await self._rows(query, workflow_id, start, ALL if limit is None else limit)
        return [HistoryRow(*row) for row in rows]

    async def _rows(self, query: str, *parameters: object) -> Sequence[Row]:
        async with self._lines.session() as session:
            return await fetch(session, query, *map(storable, parameters))
