"""Schedules for tests: every minute unless said otherwise, at whole minutes of the desk's clock."""

from msgspec.structs import replace

from assay.core.fire_schedule import fire_schedule
from assay.model.operations import CreateSchedule, Due, DueKind, Planned
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.time import MICROS
from tests.unit.core.desk import Desk

MINUTE = 60 * MICROS
EVERY_MINUTE = CreateSchedule(
    "main", "nightly", "report", "0 * * * * *", "UTC", "[1]", "q", OverlapPolicy.SKIP
)


def planned(overlap: OverlapPolicy = OverlapPolicy.SKIP, namespace: str = "main") -> Desk:
    """A schedule that has not come due yet."""
    desk = Desk()
    desk.namespaces.add(namespace)
    create(desk, overlap, namespace)
    return desk


def create(
    desk: Desk, overlap: OverlapPolicy = OverlapPolicy.SKIP, namespace: str = "main"
) -> Schedule:
    outcome = desk.do(replace(EVERY_MINUTE, overlap=overlap, namespace=namespace))
    assert isinstance(outcome, Planned)
    return outcome.schedule


def schedule(desk: Desk, namespace: str = "main", name: str = "nightly") -> Schedule:
    found = desk.schedule_named(namespace, name)
    assert found is not None
    return found


def come_due(desk: Desk, late: float = 0.0, namespace: str = "main") -> Schedule:
    """Its next instant is there; how it stands afterwards."""
    row = schedule(desk, namespace)
    assert row.next_run_at is not None
    desk.now = max(desk.now, row.next_run_at) + round(late * MICROS)
    return look(desk, namespace)


def look(desk: Desk, namespace: str = "main") -> Schedule:
    """Something may be due: judge it now."""
    desk.do(Due(DueKind.SCHEDULE, schedule(desk, namespace).no))
    return schedule(desk, namespace)


def started(desk: Desk) -> list[Run]:
    """The runs it started, oldest first."""
    return [run for run in desk.all() if run.type == "report" and run.id.startswith("nightly-")]


def is_due(desk: Desk) -> bool:
    """Whether looking at it now would come to anything."""
    return fire_schedule(desk.draft(), schedule(desk))
