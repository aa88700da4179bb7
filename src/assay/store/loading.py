"""How rows are read for a batch, as a plan that either store carries out.

A plan is a generator: it yields the named query it wants next and is sent its rows. So both stores
read the same rows in the same order, and neither way of waiting shows here
(tests/stores/test_loading.py).
"""

from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from assay.core.view import BLOCKED_AT_ONCE, CHILDREN_AT_ONCE, Key, Need, OpenChildren, WholeRun
from assay.model.activity import Activity
from assay.model.events import Event
from assay.model.timer import Timer
from assay.store.port import Loaded
from assay.store.rows import Row, activity_of, event_of, run_of, schedule_of, timer_of


class Ask(NamedTuple):
    """A named query with its parameters; a list is one parameter."""

    query: str
    parameters: tuple[object, ...]


Value = TypeVar("Value", int, str)
Part = TypeVar("Part", Activity, Timer)
Answered = Generator[Ask, Sequence[Row], None]
Plan = Generator[Ask, Sequence[Row], Loaded]


class ChildOutcome(msgspec.Struct):
    """The part of a child event that names the child."""

    child_workflow_id: str


_child_outcome = msgspec.json.Decoder(ChildOutcome)


def load_plan(keys: Sequence[Key]) -> Plan:
    """Rows by key. Every run that is named, directly or by its parts, comes as a whole case."""
    asked: dict[Need, list[Key]] = {}
    for key in keys:
        asked.setdefault(key.need, []).append(key)
    loaded = Loaded()
    run_nos = {int(key.name) for key in asked.get(Need.RUN, ())}
    yield from _parts(asked, loaded, run_nos)
    yield from _children(asked, loaded, run_nos)
    yield from _runs(asked, loaded, run_nos)
    yield from _complete_cases(loaded)
    for key in asked.get(Need.WHOLE_RUN, ()):
        loaded.whole_runs[int(key.name)] = yield from _whole_run(int(key.name))
    yield from _told(asked, loaded)
    if Need.PAYLOAD in asked:
        for run_no, seq, payload in (yield Ask("payloads_at", _places(asked[Need.PAYLOAD]))):
            loaded.payloads[(run_no, seq)] = payload
    yield from _recorded(asked, loaded)
    yield from _links(asked, loaded)
    yield from _named(asked, loaded)
    return loaded


def _parts(asked: dict[Need, list[Key]], loaded: Loaded, run_nos: set[int]) -> Answered:
    if Need.ACTIVITY in asked:
        rows = yield Ask("activities_by_no", (_numbers(asked[Need.ACTIVITY]),))
        loaded.activities += map(activity_of, rows)
    if Need.TIMER in asked:
        rows = yield Ask("timers_by_no", (_numbers(asked[Need.TIMER]),))
        loaded.timers += map(timer_of, rows)
    if Need.ACTIVITY_AT in asked:
        keys = asked[Need.ACTIVITY_AT]
        activities = map(activity_of, (yield Ask("activities_at", _places(keys))))
        pairs = _pairs(keys)
        _add(loaded.activities, (row for row in activities if (row.run_no, row.seq) in pairs))
    if Need.TIMER_AT in asked:
        keys = asked[Need.TIMER_AT]
        timers = map(timer_of, (yield Ask("timers_at", _places(keys))))
        pairs = _pairs(keys)
        _add(loaded.timers, (row for row in timers if (row.run_no, row.seq) in pairs))
    run_nos.update(activity.run_no for activity in loaded.activities)
    run_nos.update(timer.run_no for timer in loaded.timers)


def _children(asked: dict[Need, list[Key]], loaded: Loaded, run_nos: set[int]) -> Answered:
    parents = _numbers(asked.get(Need.OPEN_CHILDREN, []))
    if not parents:
        return
    rows = yield Ask("open_children", (parents, CHILDREN_AT_ONCE))
    # When there are more than were read, the last parent's may be cut, and later ones' are unknown.
    cut = rows[-1][0] if len(rows) == CHILDREN_AT_ONCE else None
    known = [no for no in sorted(parents) if cut is None or no <= cut]
    children: dict[int, list[int]] = {parent: [] for parent in known}
    for parent_no, no in rows:
        children[parent_no].append(no)
        run_nos.add(no)
    loaded.open_children = {
        parent: OpenChildren(tuple(nos), whole=parent != cut) for parent, nos in children.items()
    }


def _runs(asked: dict[Need, list[Key]], loaded: Loaded, run_nos: set[int]) -> Answered:
    ids = _distinct(str(key.name) for key in asked.get(Need.RUN_BY_ID, ()))
    if ids:
        loaded.runs += map(run_of, (yield Ask("runs_by_id", (ids,))))
    nos = sorted(run_nos - {run.no for run in loaded.runs})
    if nos:
        loaded.runs += map(run_of, (yield Ask("runs_by_no", (nos,))))


def _complete_cases(loaded: Loaded) -> Answered:
    # Of ended runs too: an operator retry may open one again, with work still running.
    nos = [run.no for run in loaded.runs]
    if not nos:
        return
    _add(loaded.activities, map(activity_of, (yield Ask("live_activities", (nos,)))))
    _add(loaded.timers, map(timer_of, (yield Ask("open_timers", (nos,)))))


def _told(asked: dict[Need, list[Key]], loaded: Loaded) -> Answered:
    """Whose ends the histories of these parents tell already."""
    parents = _numbers(asked.get(Need.TOLD_CHILDREN, []))
    if not parents:
        return
    told: dict[int, set[str]] = {parent: set() for parent in parents}
    for run_no, payload in (yield Ask("child_outcomes", (parents,))):
        told[run_no].add(_child_outcome.decode(payload).child_workflow_id)
    loaded.told_children = {parent: frozenset(ids) for parent, ids in told.items()}


def _recorded(asked: dict[Need, list[Key]], loaded: Loaded) -> Answered:
    """What histories hold of records and signals, and which signals came with an id."""
    for need, found in ((Need.RECORDED, loaded.recorded), (Need.SIGNALS, loaded.signals)):
        nos = _numbers(asked.get(need, []))
        if nos:
            events: dict[int, list[Event]] = {no: [] for no in nos}
            for event in map(event_of, (yield Ask(need.value, (nos,)))):
                events[event.run_no].append(event)
            found.update({no: tuple(listed) for no, listed in events.items()})
    keys = asked.get(Need.SIGNAL_REQUEST, [])
    if keys:
        names = _distinct(str(key.name) for key in keys)
        runs = _distinct(key.seq for key in keys)
        for run_no, request_id in (yield Ask("signal_requests", (runs, names))):
            loaded.signal_requests.append((run_no, request_id))


def _links(asked: dict[Need, list[Key]], loaded: Loaded) -> Answered:
    """The ends of chains of successors, and runs that get nowhere."""
    for no in _numbers(asked.get(Need.LAST_LINK, [])):
        ends = yield Ask("chain", (no,))
        loaded.last_links[no] = ends[0][0] if ends and ends[0][1] is None else None
    queues = _distinct(str(key.name) for key in asked.get(Need.BLOCKED, ()))
    if queues:
        blocked: dict[str, list[int]] = {queue: [] for queue in queues}
        for queue, no in (yield Ask("blocked_runs", (queues, BLOCKED_AT_ONCE))):
            blocked[queue].append(no)
        loaded.blocked = {queue: tuple(nos) for queue, nos in blocked.items()}


def _named(asked: dict[Need, list[Key]], loaded: Loaded) -> Answered:
    """Namespaces and schedules."""
    names = _distinct(str(key.name) for key in asked.get(Need.NAMESPACE, ()))
    if names:
        rows = yield Ask("namespaces", (names,))
        loaded.namespaces = [row[0] for row in rows]
    nos = _numbers(asked.get(Need.SCHEDULE, []))
    if nos:
        loaded.schedules += map(schedule_of, (yield Ask("schedules_by_no", (nos,))))
    keys = asked.get(Need.SCHEDULE_NAMED, [])
    if keys:
        scopes = _distinct(key.scope for key in keys)
        names = _distinct(str(key.name) for key in keys)
        loaded.schedules += map(schedule_of, (yield Ask("schedules_named", (scopes, names))))


def _add(known: list[Part], found: Iterable[Part]) -> None:
    """Rows that were asked for in more than one way come once."""
    nos = {row.no for row in known}
    known += [row for row in found if row.no not in nos]


def _whole_run(no: int) -> Generator[Ask, Sequence[Row], WholeRun]:
    return WholeRun(
        activities=tuple(map(activity_of, (yield Ask("activities_of", (no,))))),
        timers=tuple(map(timer_of, (yield Ask("timers_of", (no,))))),
        events=tuple(map(event_of, (yield Ask("events_of", (no,))))),
        ended_children=tuple(map(run_of, (yield Ask("ended_children", (no,))))),
    )


def _numbers(keys: list[Key]) -> list[int]:
    return _distinct(int(key.name) for key in keys)


def _places(keys: list[Key]) -> tuple[object, ...]:
    return _numbers(keys), _distinct(key.seq for key in keys)


def _pairs(keys: list[Key]) -> set[tuple[str | int, int]]:
    return {(key.name, key.seq) for key in keys}


def _distinct(values: Iterable[Value]) -> list[Value]:
    return list(dict.fromkeys(values))
