"""The stock of numbers this instance may give to new rows and claims."""

from assay.core.view import Key, Missing, Need
from assay.engine.limits import NUMBERS_PER_BLOCK


class Stock:
    """Numbers reserved in the store. A number is used once; what a crash leaves is lost.

    A batch that is decided again takes the same numbers again: nobody has seen them yet.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int]] = []
        self._block = 0
        self._next = 0
        self._end = 0

    def take(self) -> int:
        """The next number; when there is none left, a block is asked for like missing rows are."""
        no = self._next
        if no < self._end:
            self._next = no + 1
            return no
        if self._block + 1 >= len(self._blocks):
            held = sum(end - first for first, end in self._blocks)
            raise Missing(Key(Need.NUMBERS, max(NUMBERS_PER_BLOCK, held)))
        self._block += 1
        self._next, self._end = self._blocks[self._block]
        return self.take()

    def refill(self, first: int, count: int) -> None:
        """One more block is ours."""
        self._blocks.append((first, first + count))

    def rewind(self) -> None:
        """The batch is decided anew: what it took is free again."""
        self._block = -1
        self._next = self._end = 0

    def keep(self) -> None:
        """The batch is over: what it took is used up."""
        if self._block >= 0:
            self._blocks = [(self._next, self._end), *self._blocks[self._block + 1 :]]
        self.rewind()
