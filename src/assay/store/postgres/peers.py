"""Who else works on this database, and which share of its work is whose, by number.

Every instance has a row with the moment until which it counts as living, and renews it about once
a second in the statement that reads the deadlines. Nobody leads: who is thought gone and is not
does no harm, for everything that is due is guarded by its row's version.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from assay.model.operations import DueKind
from assay.store.port import Ready
from assay.store.postgres.limits import COURTESY, COURTESY_FOR_TIMERS


class Peers:
    """The living, as the last look showed them; this instance is one of them."""

    def __init__(self) -> None:
        self.me = 0
        self.living: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        """This instance's place among the living."""
        return self.living.index(self.me)

    def begin(self, me: int) -> None:
        """This instance has its number."""
        self.me = me
        self.living = (me,)

    def note(self, living: Sequence[int]) -> bool:
        """Who lives now. True: somebody who did before is gone."""
        before, self.living = self.living, tuple(sorted({*living, self.me}))
        return not set(before) <= set(self.living)

    def is_own(self, no: int) -> bool:
        """Whether a row is this instance's share."""
        return _scattered(no) % len(self.living) == self.rank

    def courtesy(self, kind: DueKind, no: int) -> int:
        """How much later than at its time this instance looks after a row that is due."""
        if self.is_own(no):
            return 0
        return COURTESY_FOR_TIMERS if kind is DueKind.TIMER else COURTESY

    def own_first(self, tasks: list[Ready], now: int) -> list[Ready]:
        """Of the tasks that are ready now, those of others count as the youngest.

        Who takes its own first does not get in the way of others who do the same; without that,
        two instances with one long queue lose two commits of three to each other.
        """
        youngest = max((task.ready_at for task in tasks if task.ready_at <= now), default=None)
        if youngest is None:
            return tasks
        shown = [
            task
            if task.ready_at > youngest or task.keeper is not None or self.is_own(task.no)
            else replace(task, ready_at=youngest)
            for task in tasks
        ]
        return sorted(shown, key=_by_age)


def _scattered(no: int) -> int:
    """Often a kind of rows has every second number; shares are to be equal all the same."""
    return (no * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 32


def _by_age(task: Ready) -> tuple[int, int]:
    return task.ready_at, task.no
