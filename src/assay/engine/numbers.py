"""The stock of numbers this instance may give to new rows and claims."""

from assay.core.view import Key, Missing, Need
from assay.engine.limits import NUMBERS_PER_BLOCK


class Stock:
    """Numbers reserved in the store. A number is used once; what a crash leaves is lost."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0

    def take(self) -> int:
        """The next number; when there is none left, a block is asked for like missing rows are."""
        no = self._next
        if no >= self._end:
            raise Missing(Key(Need.NUMBERS, NUMBERS_PER_BLOCK))
        self._next = no + 1
        return no

    def refill(self, first: int, count: int) -> None:
        """A new block is ours."""
        self._next, self._end = first, first + count
