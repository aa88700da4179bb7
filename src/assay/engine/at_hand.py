"""The rows one batch sees: cases that are kept, and what was loaded for this batch beside them."""

from collections.abc import Sequence
from typing import TypeVar

from assay.core.view import Key, Missing, Need, OpenChildren, WholeRun
from assay.engine.cases import Cases, CaseShelf
from assay.engine.numbers import Stock
from assay.model.activity import Activity
from assay.model.events import Event
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.timer import Timer
from assay.store.port import Loaded

Name = TypeVar("Name", str, int)
Value = TypeVar("Value")


class AtHand:
    """A view over the cases; `touched` names the runs a decision has looked at."""

    def __init__(self, cases: Cases, stock: Stock) -> None:
        self._cases = cases
        self._stock = stock
        self.touched: set[int] = set()
        self.fresh: set[int] = set()
        self.absent_ids: set[str] = set()
        self._absent_runs: set[int] = set()
        self._namespaces: dict[str, bool] = {"main": True}
        self._open_children: dict[int, OpenChildren] = {}
        self._payloads: dict[tuple[int, int], str | None] = {}
        self._told_children: dict[int, frozenset[str]] = {}
        self._whole_runs: dict[int, WholeRun] = {}
        self._recorded: dict[int, tuple[Event, ...]] = {}
        self._signals: dict[int, tuple[Event, ...]] = {}
        self._signal_requests: dict[tuple[int, str], bool] = {}
        self._last_links: dict[int, int | None] = {}
        self._blocked: dict[str, tuple[int, ...]] = {}
        self._schedules: dict[int, Schedule | None] = {}
        self._schedules_named: dict[tuple[str, str], Schedule | None] = {}
        self.activities: CaseShelf[Activity] = CaseShelf(
            cases,
            self.touched,
            cases.activities,
            part=lambda case: case.activities,
            by_no=Need.ACTIVITY,
            by_seq=Need.ACTIVITY_AT,
        )
        self.timers: CaseShelf[Timer] = CaseShelf(
            cases,
            self.touched,
            cases.timers,
            part=lambda case: case.timers,
            by_no=Need.TIMER,
            by_seq=Need.TIMER_AT,
        )

    def run(self, no: int) -> Run | None:
        """The run of that number."""
        case = self._cases.by_no.get(no)
        if case is not None:
            self.touched.add(no)
            return case.run
        if no in self._absent_runs:
            return None
        raise Missing(Key(Need.RUN, no))

    def run_by_id(self, workflow_id: str) -> Run | None:
        """The run of that id."""
        no = self._cases.no_of_id.get(workflow_id)
        if no is not None:
            return self.run(no)
        if workflow_id in self.absent_ids:
            return None
        raise Missing(Key(Need.RUN_BY_ID, workflow_id))

    def open_children(self, run_no: int) -> OpenChildren:
        """Children that have not ended: never kept, always read."""
        return _known(self._open_children, run_no, Need.OPEN_CHILDREN)

    def payload(self, run_no: int, seq: int) -> str | None:
        """What an event of a run holds."""
        if (run_no, seq) in self._payloads:
            return self._payloads[(run_no, seq)]
        raise Missing(Key(Need.PAYLOAD, run_no, seq))

    def told_children(self, run_no: int) -> frozenset[str]:
        """Children whose outcome a run's history tells already."""
        return _known(self._told_children, run_no, Need.TOLD_CHILDREN)

    def whole_run(self, no: int) -> WholeRun:
        """Everything of one run."""
        return _known(self._whole_runs, no, Need.WHOLE_RUN)

    def recorded(self, run_no: int) -> tuple[Event, ...]:
        """What its replays had recorded."""
        return _known(self._recorded, run_no, Need.RECORDED)

    def signals(self, run_no: int) -> tuple[Event, ...]:
        """The signals it has received."""
        return _known(self._signals, run_no, Need.SIGNALS)

    def signal_request(self, run_no: int, request_id: str) -> bool:
        """Whether a signal with that id has reached the run."""
        if (run_no, request_id) in self._signal_requests:
            return self._signal_requests[(run_no, request_id)]
        raise Missing(Key(Need.SIGNAL_REQUEST, request_id, run_no))

    def last_link(self, run_no: int) -> int | None:
        """The last run of a chain."""
        return _known(self._last_links, run_no, Need.LAST_LINK)

    def blocked_runs(self, queue: str) -> tuple[int, ...]:
        """Runs of a queue that get nowhere: never kept, always read."""
        return _known(self._blocked, queue, Need.BLOCKED)

    def namespace(self, name: str) -> bool:
        """Whether it exists."""
        return _known(self._namespaces, name, Need.NAMESPACE)

    def schedule(self, no: int) -> Schedule | None:
        """The schedule of that number: never kept, always read."""
        return _known(self._schedules, no, Need.SCHEDULE)

    def schedule_named(self, namespace: str, name: str) -> Schedule | None:
        """The schedule of that name."""
        if (namespace, name) in self._schedules_named:
            return self._schedules_named[(namespace, name)]
        raise Missing(Key(Need.SCHEDULE_NAMED, name, scope=namespace))

    def doubt(self, run_no: int) -> None:
        """The run is to be read again, and with it what was read beside it: that may be older."""
        self._cases.forget(run_no)
        for part in (self._recorded, self._signals, self._told_children, self._open_children):
            part.pop(run_no, None)
        for key in [key for key in self._signal_requests if key[0] == run_no]:
            del self._signal_requests[key]

    def absorb(self, keys: Sequence[Key], loaded: Loaded) -> None:
        """What was asked for is here; what was asked for and did not come does not exist."""
        self._keep_cases(loaded)
        for row in loaded.activities:
            self.activities.loaded[row.no] = row
            self.activities.loaded_at[(row.run_no, row.seq)] = row
        for timer in loaded.timers:
            self.timers.loaded[timer.no] = timer
            self.timers.loaded_at[(timer.run_no, timer.seq)] = timer
        self._open_children.update(loaded.open_children)
        self._payloads.update(loaded.payloads)
        self._told_children.update(loaded.told_children)
        self._whole_runs.update(loaded.whole_runs)
        for whole in loaded.whole_runs.values():
            self.activities.loaded.update({row.no: row for row in whole.activities})
            self.timers.loaded.update({row.no: row for row in whole.timers})
        self._recorded.update(loaded.recorded)
        self._signals.update(loaded.signals)
        self._signal_requests.update(dict.fromkeys(loaded.signal_requests, True))
        self._last_links.update(loaded.last_links)
        self._blocked.update(loaded.blocked)
        self._namespaces.update(dict.fromkeys(loaded.namespaces, True))
        for schedule in loaded.schedules:
            self._schedules[schedule.no] = schedule
            self._schedules_named[(schedule.namespace, schedule.name)] = schedule
        if loaded.first_number is not None:
            self._stock.refill(loaded.first_number, loaded.numbers)
        for key in keys:
            self._note_absence(key)

    def _keep_cases(self, loaded: Loaded) -> None:
        activities: dict[int, list[Activity]] = {}
        timers: dict[int, list[Timer]] = {}
        for activity in loaded.activities:
            if activity.is_live:
                activities.setdefault(activity.run_no, []).append(activity)
        for timer in loaded.timers:
            if timer.is_live:
                timers.setdefault(timer.run_no, []).append(timer)
        for run in loaded.runs:
            self._cases.keep(run, activities.get(run.no, ()), timers.get(run.no, ()))
            self.fresh.add(run.no)

    def _note_absence(self, key: Key) -> None:
        need, name = key.need, key.name
        if need is Need.RUN_BY_ID and isinstance(name, str):
            if name not in self._cases.no_of_id:
                self.absent_ids.add(name)
        elif need is Need.NAMESPACE and isinstance(name, str):
            self._namespaces.setdefault(name, False)
        elif need is Need.SIGNAL_REQUEST and isinstance(name, str):
            self._signal_requests.setdefault((key.seq, name), False)
        elif need is Need.SCHEDULE_NAMED and isinstance(name, str):
            self._schedules_named.setdefault((key.scope, name), None)
        elif isinstance(name, int):
            self._note_absent_row(need, name, key.seq)

    def _note_absent_row(self, need: Need, no: int, seq: int) -> None:
        if need is Need.RUN and no not in self._cases.by_no:
            self._absent_runs.add(no)
        elif need is Need.ACTIVITY and no not in self._cases.activities:
            self.activities.loaded.setdefault(no, None)
        elif need is Need.TIMER and no not in self._cases.timers:
            self.timers.loaded.setdefault(no, None)
        elif need is Need.ACTIVITY_AT:
            self.activities.loaded_at.setdefault((no, seq), None)
        elif need is Need.SCHEDULE:
            self._schedules.setdefault(no, None)
        elif need is Need.PAYLOAD:
            self._payloads.setdefault((no, seq), None)
        elif need is Need.TIMER_AT:
            self.timers.loaded_at.setdefault((no, seq), None)


def _known(known: dict[Name, Value], name: Name, need: Need) -> Value:
    try:
        return known[name]
    except KeyError:
        raise Missing(Key(need, name)) from None
