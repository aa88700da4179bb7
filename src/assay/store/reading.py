"""What clients look at by name or number, read alike from both stores (the port's `Reads`)."""

from collections.abc import Awaitable, Callable, Sequence

from assay.model.states import RunStatus
from assay.store.rows import Row, activity_of, run_of
from assay.store.views import (
    ActivityView,
    HeldRows,
    HistoryRow,
    Link,
    RunView,
    activity_view,
    counts_of,
    run_view,
)

Ask = Callable[..., Awaitable[Sequence[Row]]]
"""The rows of a named query with these parameters; a list is one parameter."""

ALL = 2**62


class Reading:
    """Read models over the named queries of a store; each is one statement, so of one moment."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def run_views(self, ids: Sequence[str]) -> list[RunView]:
        """Runs by id with input and result."""
        return [run_view(row) for row in await self._ask("run_views", list(ids))]

    async def activity_views(self, nos: Sequence[int]) -> list[ActivityView]:
        """Activities by number with input and result."""
        rows = await self._ask("activity_views", list(nos))
        return [activity_view(activity_of(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]

    async def last_link(self, workflow_id: str, no: int | None) -> Link | None:
        """The end of a run's chain of successors."""
        rows = await self._ask("last_link", workflow_id, no)
        if not rows:
            return None
        [(last_no, id, cut, first_no)] = rows
        return Link(last_no, id, cut=bool(cut), first_no=first_no)

    async def ended(self, nos: Sequence[int]) -> list[int]:
        """Which of these runs have ended, or are gone."""
        still_open = {row[0] for row in await self._ask("open_among", list(nos))}
        return [no for no in nos if no not in still_open]

    async def run_counts(self, namespace: str) -> dict[RunStatus, int]:
        """How many runs a namespace has in each status."""
        return counts_of(await self._ask("run_counts", namespace))

    async def held_by(self, worker_id: str) -> HeldRows:
        """What a worker has claimed and not answered yet."""
        runs = await self._ask("runs_held_by", worker_id)
        activities = await self._ask("activities_held_by", worker_id)
        return HeldRows([run_of(row) for row in runs], [activity_of(row) for row in activities])

    async def history_after(self, run_no: int, seq: int, limit: int | None) -> list[HistoryRow]:
        """Standing events of a run that come after another one."""
        rows = await self._ask("history_after", run_no, seq, ALL if limit is None else limit)
        return [HistoryRow(*row) for row in rows]

    async def histories(self, run_nos: Sequence[int]) -> list[HistoryRow]:
        """Standing events of these runs."""
        return [HistoryRow(*row) for row in await self._ask("histories", list(run_nos))]

    async def events(
        self, workflow_id: str, *, cursor: int | None, limit: int | None, descending: bool
    ) -> list[HistoryRow]:
        """One page of a history."""
        name = "events_descending" if descending else "events_ascending"
        start = cursor if cursor is not None else (ALL if descending else 0)
        rows = await self._ask(name, workflow_id, start, ALL if limit is None else limit)
        return [HistoryRow(*row) for row in rows]
