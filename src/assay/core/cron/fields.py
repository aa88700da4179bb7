"""One field of a cron expression: its text stands for a set of numbers, kept as the bits of an int.

A field is a list of members `*`, `a`, `a-b`, each with or without a step `/n`; `a/n` means from a
to the field's maximum. In a day field `?` alone means any.
"""

from typing import NoReturn

from msgspec import Struct

from assay.errors import BadValue

ANY = "?"
EVERY = "*"
LONGEST_QUOTE = 40  # characters of somebody's text that a message repeats


class Field(Struct, frozen=True):
    """What messages call a field, its smallest and greatest number, and the names for numbers.

    `end_names` are those that mean another number where a range ends that else ran backwards.
    """

    name: str
    low: int
    high: int
    names: dict[str, int] = {}
    takes_any: bool = False
    end_names: dict[str, int] = {}

    def numbers(self, text: str) -> int:
        """The set that the text stands for: bit n is set when n belongs to it."""
        if text == ANY and self.takes_any:
            text = EVERY
        numbers = 0
        for member in text.split(","):
            for number in self._member(member):
                numbers |= 1 << number
        return numbers

    def _member(self, member: str) -> range:
        span, slash, step_text = member.partition("/")
        step = self._step(member, step_text) if slash else 1
        if span == EVERY:
            return range(self.low, self.high + 1, step)
        first, dash, last = span.partition("-")
        start = self._number(first)
        open_end = self.high if slash else start
        end = self._number(last) if dash else open_end
        if start > end:
            end = self.end_names.get(last.lower(), end)
        if start > end:
            self._refuse(f"{quoted(member)} runs backwards")
        return range(start, end + 1, step)

    def _step(self, member: str, text: str) -> int:
        if not _is_number(text) or int(text) == 0:
            self._refuse(f"{quoted(member)} needs a step of 1 or more")
        return min(int(text), self.high - self.low + 1)  # a greater one leads out of the field too

    def _number(self, text: str) -> int:
        named = self.names.get(text.lower())
        if named is not None:
            return named
        if not _is_number(text):
            self._refuse(f"{quoted(text)} is not a number{' or a name' if self.names else ''}")
        number = int(text)
        if not self.low <= number <= self.high:
            self._refuse(f"{quoted(text)} is not within {self.low}-{self.high}")
        return number

    def _refuse(self, complaint: str) -> NoReturn:
        raise BadValue(f"cron expression: {self.name}: {complaint}")


def _is_number(text: str) -> bool:
    # isdigit alone would let the digits of every script pass, superscripts included.
    return text.isascii() and text.isdigit()


def quoted(text: str) -> str:
    """Somebody's text as a message repeats it: printable, on one line, cut when it is long."""
    return repr(text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…")


def first_of(numbers: int) -> int:
    """The smallest number of a set that is not empty."""
    return (numbers & -numbers).bit_length() - 1


def first_from(numbers: int, least: int) -> int | None:
    """The smallest number of a set that is `least` or more."""
    rest = numbers >> least
    return least + first_of(rest) if rest else None
