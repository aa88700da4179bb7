"""Who else works on this database, and which share of its deadlines is whose.

Every instance has a row with the moment until which it counts as living, and renews it about once
a second in the statement that reads the deadlines. Nobody leads: who is thought gone and is not
does no harm, for everything that is due is guarded by its row's version.
"""

from collections.abc import Sequence

from assay.store.postgres.limits import COURTESY


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

    def courtesy(self, no: int) -> int:
        """How much later than at its time this instance looks after a row that is due."""
        return 0 if no % len(self.living) == self.rank else COURTESY
