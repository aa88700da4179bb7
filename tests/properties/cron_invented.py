"""Invented cron expressions, moments to look from, and zones no government has thought of yet."""

import io
import struct
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tests.properties.cron_reference import DAYS, MONTHS
from tests.properties.cron_zones import Change, start_of

HOUR = 3600
FARTHEST = 3 * HOUR  # that an invented clock is moved


def members(low: int, high: int, words: list[str] | None = None) -> st.SearchStrategy[str]:
    """One member of a field's list."""
    numbers = st.integers(low, high)
    spans = st.tuples(numbers, numbers).map(sorted).map("{0[0]}-{0[1]}".format)
    near = st.integers(1, high)
    steps = st.one_of(near, near, near, st.integers(1, 10**40))
    plain = [numbers.map(str), spans]
    if words:
        named = st.sampled_from([form for word in words for form in (word, word[:3].upper())])
        plain.append(named)
        if words is DAYS and low == 0:
            spans |= st.builds("{}-{}".format, named | numbers, st.sampled_from(["sun", "SUNDAY"]))
            plain.append(spans)
    return st.one_of(
        *plain,
        st.builds("{}/{}".format, numbers, steps),
        st.builds("{}/{}".format, spans, steps),
        st.builds("*/{}".format, steps),
    )


def fields(low: int, high: int, words: list[str] | None = None) -> st.SearchStrategy[str]:
    """A field, as often `*` as anything else."""
    lists = st.lists(members(low, high, words), min_size=1, max_size=3).map(",".join)
    return st.just("*") | lists


seconds, minutes, hours = fields(0, 59), fields(0, 59), fields(0, 23)
days, months, years = fields(1, 31) | st.just("?"), fields(1, 12, MONTHS), fields(1970, 2100)
short = st.builds(
    "{} {} {} {} {}".format, minutes, hours, days, months, fields(0, 7, DAYS) | st.just("?")
)
longer = st.builds(
    "{} {} {} {} {} {}".format,
    seconds,
    minutes,
    hours,
    days,
    months,
    fields(1, 7, DAYS) | st.just("?"),
)
expressions = short | longer | st.builds("{} {}".format, longer, years)

# Among them letters that become "s" and "k" in another case, and digits that are none to us.
ALPHABET = "0123456789*/-,?@ \t\n.+_LW#janmoy\u017f\u212a\u00b2\u0663"
texts = st.text(ALPHABET, max_size=30)


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """An expression with a place in it overwritten."""
    text = draw(expressions)
    place = draw(st.integers(0, len(text)))
    return (
        text[:place] + draw(st.text(ALPHABET, max_size=2)) + text[place + draw(st.integers(0, 2)) :]
    )


@st.composite
def clocks(draw: st.DrawFn) -> tuple[ZoneInfo, list[Change]]:
    """A zone whose clock is moved by any number of minutes, and soon again."""
    offset = draw(st.integers(-14 * HOUR, 14 * HOUR))
    second = start_of(draw(st.integers(1975, 2095))) + draw(st.integers(-HOUR, HOUR))
    found: list[Change] = []
    for _ in range(draw(st.integers(1, 3))):
        after = offset + 60 * draw(st.integers(-FARTHEST // 60, FARTHEST // 60))
        found.append(Change(second, offset, after))
        offset = after
        second += draw(st.integers(2 * FARTHEST + 1, 4 * FARTHEST))
    return built(found), found


def built(found: list[Change]) -> ZoneInfo:
    """A zone of these changes, through the bytes of a zone file (RFC 8536)."""
    offsets = [found[0].before, *(change.after for change in found)]
    header = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, len(found), len(offsets), 4)
    empty = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 1, 1) + struct.pack(
        ">lBBx", 0, 0, 0
    )
    times = struct.pack(f">{len(found)}q", *(change.second for change in found))
    kinds = bytes(range(1, len(offsets)))
    types = b"".join(struct.pack(">lBB", offset, 0, 0) for offset in offsets)
    return ZoneInfo.from_file(io.BytesIO(empty + header + times + kinds + types + b"ODD\0\n\n"))
