"""Schedules on the desk: what a batch made of them, over the view."""

from msgspec.structs import replace

from assay.core.layer import Journal, write
from assay.core.view import View
from assay.model.decision import Change
from assay.model.schedule import Schedule


class ScheduleLayer:
    """Schedules as they are to be, on top of those that were."""

    def __init__(self, view: View, journal: Journal) -> None:
        self._view = view
        self._journal = journal
        self._rows: dict[int, Schedule | None] = {}
        self._born: dict[int, None] = {}
        self._names: dict[tuple[str, str], int] = {}

    def get(self, no: int) -> Schedule | None:
        """The schedule of that number as it stands now."""
        return self._rows[no] if no in self._rows else self._view.schedule(no)

    def named(self, namespace: str, name: str) -> Schedule | None:
        """The schedule of that name as it stands now, None if the name is free."""
        no = self._names.get((namespace, name))
        if no is not None and no in self._rows:
            return self._rows[no]
        schedule = self._view.schedule_named(namespace, name)
        return None if schedule is None else self.get(schedule.no)

    def add(self, schedule: Schedule) -> Schedule:
        """Keep a schedule that did not exist before."""
        write(self._journal, self._born, schedule.no, None)
        return self.put(schedule)

    def put(self, schedule: Schedule) -> Schedule:
        """Keep a schedule's new state."""
        write(self._journal, self._names, (schedule.namespace, schedule.name), schedule.no)
        write(self._journal, self._rows, schedule.no, schedule)
        return schedule

    def drop(self, schedule: Schedule) -> None:
        """Delete a schedule; its name is free again."""
        write(self._journal, self._rows, schedule.no, None)

    def changes(self) -> tuple[Change[Schedule], ...]:
        """Every schedule as it was and as it is to be."""
        changes: list[Change[Schedule]] = []
        for no, row in self._rows.items():
            before = None if no in self._born else self._view.schedule(no)
            if before is not None and row is not None:
                row = replace(row, ver=before.ver + 1)  # noqa: PLW2901 - the version guards the next write
            if before is not None or row is not None:
                changes.append(Change(before, row))
        return tuple(changes)
