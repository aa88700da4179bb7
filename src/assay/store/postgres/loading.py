"""How rows are read for a batch: in one snapshot, or with their runs locked.

What fits into one query is one round trip. Anything more is read in one REPEATABLE READ
transaction, so that a run and its parts are from the same moment: what is answered from them
without being written has no other guard (tests/stores/test_loading.py).
"""

import re
from collections.abc import Sequence

from assay.core.view import Key
from assay.store.loading import Ask, Plan, load_plan
from assay.store.port import Loaded
from assay.store.postgres.line import Session, fetch
from assay.store.rows import Row

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LOCK = "SELECT no FROM run WHERE no = ANY($1::bigint[]) ORDER BY no FOR UPDATE"


def storable(parameter: object) -> object:
    """A list without what cannot be in a database and so names nothing there."""
    if isinstance(parameter, list):
        return [value for value in parameter if _is_storable(value)]
    return parameter


def _is_storable(value: object) -> bool:
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    text = str(value)
    return "\0" not in text and not _LONE_SURROGATE.search(text)


class Loading:
    """Loads what a batch asked for, on a session of the caller's."""

    def __init__(self, queries: dict[str, str]) -> None:
        self.queries = queries

    async def load(self, session: Session, keys: Sequence[Key]) -> Loaded:
        """Rows by key, all from one moment."""
        plan = load_plan(keys)
        try:
            plan.send(await self._rows(session, next(plan)))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what load_plan returns
        await session.execute(_SNAPSHOT)
        loaded = await self._carry_out(session, load_plan(keys))
        await session.execute("COMMIT")
        return loaded

    async def load_locked(self, session: Session, keys: Sequence[Key]) -> Loaded:
        """Rows by key, inside the transaction that is open: their runs stay locked until its end.

        A first reading says which runs those are; they are locked by number, parents before their
        children, and read again. A run that has come up in between is not locked, only guarded.
        """
        loaded = await self._carry_out(session, load_plan(keys))
        nos = (
            {run.no for run in loaded.runs} | loaded.whole_runs.keys() | loaded.told_children.keys()
        )
        if not nos:
            return loaded
        await session.execute(_LOCK, sorted(nos))
        return await self._carry_out(session, load_plan(keys))

    async def _carry_out(self, session: Session, plan: Plan) -> Loaded:
        try:
            ask = next(plan)
            while True:
                ask = plan.send(await self._rows(session, ask))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what load_plan returns

    async def _rows(self, session: Session, ask: Ask) -> Sequence[Row]:
        return await fetch(session, self.queries[ask.query], *map(storable, ask.parameters))
