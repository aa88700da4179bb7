"""How rows are read for a batch: in one snapshot, or with their runs locked.

Nearly always whole cases are wanted, and they come in one statement. Anything more is read in one
REPEATABLE READ transaction. Either way a run and its parts are from the same moment: what is
answered from them without being written has no other guard (tests/stores/test_loading.py).
"""

import re
import types
import typing
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.view import Key, Need
from assay.model.activity import Activity
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.timer import Timer
from assay.store.loading import Ask, Plan, load_plan
from assay.store.port import Loaded
from assay.store.postgres.line import Session, fetch
from assay.store.rows import (
    ACTIVITY_COLUMNS,
    RUN_COLUMNS,
    TIMER_COLUMNS,
    Row,
    activity_of,
    run_of,
    timer_of,
)

SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
LOCK = "SELECT no FROM run WHERE no = ANY($1::bigint[]) ORDER BY no FOR UPDATE"

# Rows come as JSON arrays in the order of the model, all of one table in one text. UNION keeps a
# row that was asked for by number and is live besides from coming twice. OFFSET 0 keeps the planner
# from walking down all that is open and looking each up among the few that were asked for, which is
# what it would do with tables that were empty when it made its plan.
CASES = f"""
WITH named AS MATERIALIZED (
  SELECT unnest($1::bigint[]) AS no
  UNION SELECT no FROM run WHERE id = ANY($2::text[])
  UNION SELECT run_no FROM activity WHERE no = ANY($3::bigint[])
  UNION SELECT run_no FROM timer WHERE no = ANY($4::bigint[])
),
found AS MATERIALIZED (
  SELECT run.* FROM named JOIN run ON run.no = named.no
)
SELECT
  (SELECT json_agg(json_build_array({", ".join(RUN_COLUMNS)}) ORDER BY no)::text FROM found),
  (SELECT json_agg(json_build_array({", ".join(ACTIVITY_COLUMNS)}) ORDER BY no)::text FROM (
    SELECT live.* FROM found CROSS JOIN LATERAL (
      SELECT * FROM activity
      WHERE run_no = found.no AND completed_at IS NULL AND status IN ('PENDING', 'RUNNING') OFFSET 0
    ) AS live
    UNION SELECT * FROM activity WHERE no = ANY($3::bigint[])
  ) AS wanted),
  (SELECT json_agg(json_build_array({", ".join(TIMER_COLUMNS)}) ORDER BY no)::text FROM (
    SELECT live.* FROM found CROSS JOIN LATERAL (
      SELECT * FROM timer WHERE run_no = found.no AND state = 'open' OFFSET 0
    ) AS live
    UNION SELECT * FROM timer WHERE no = ANY($4::bigint[])
  ) AS wanted)
"""
_OF_A_CASE = (Need.RUN, Need.RUN_BY_ID, Need.ACTIVITY, Need.TIMER)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def decoder_of(model: Any, columns: Sequence[str]) -> msgspec.json.Decoder[list[Row]]:
    """Rows as JSON arrays; by their types, for JSON writes 1.0 as 1."""
    hints = {**typing.get_type_hints(model), **typing.get_type_hints(RetryPolicy)}
    row = types.GenericAlias(tuple, tuple(hints[name] for name in columns))
    return msgspec.json.Decoder(types.GenericAlias(list, (row,)))


_runs = decoder_of(Run, RUN_COLUMNS)
_activities = decoder_of(Activity, ACTIVITY_COLUMNS)
_timers = decoder_of(Timer, TIMER_COLUMNS)


class Loading:
    """Loads what a batch asked for, on a session of the caller's."""

    def __init__(self, queries: dict[str, str]) -> None:
        self.queries = queries

    async def load(self, session: Session, keys: Sequence[Key]) -> Loaded:
        """Rows by key, all from one moment."""
        needs = {key.need for key in keys}
        if needs == {Need.RUN_BY_ID} and not await self._exist(session, keys):
            return Loaded()
        if needs.issubset(_OF_A_CASE):
            return await self._cases(session, keys)
        await session.execute(SNAPSHOT)
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
        await session.execute(LOCK, sorted(nos))
        return await self._carry_out(session, load_plan(keys))

    async def _exist(self, session: Session, keys: Sequence[Key]) -> bool:
        """Whether any of these ids is taken; those of starts hardly ever are."""
        ids = storable([key.name for key in keys])
        return bool(await session.fetchval("SELECT no FROM run WHERE id = ANY($1) LIMIT 1", ids))

    async def _cases(self, session: Session, keys: Sequence[Key]) -> Loaded:
        named = [storable([key.name for key in keys if key.need is need]) for need in _OF_A_CASE]
        ((runs, activities, timers),) = await fetch(session, CASES, *named)
        return Loaded(
            runs=[run_of(row) for row in _runs.decode(runs or "[]")],
            activities=[activity_of(row) for row in _activities.decode(activities or "[]")],
            timers=[timer_of(row) for row in _timers.decode(timers or "[]")],
        )

    async def _carry_out(self, session: Session, plan: Plan) -> Loaded:
        try:
            ask = next(plan)
            while True:
                ask = plan.send(await self._rows(session, ask))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what load_plan returns

    async def _rows(self, session: Session, ask: Ask) -> Sequence[Row]:
        return await fetch(session, self.queries[ask.query], *map(storable, ask.parameters))


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
