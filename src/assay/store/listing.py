"""Lists of runs: which walk down which index finds them.

A list is one walk down one index, in the order of the list. Where several things are asked for at
once (a status or type, a worker, search attributes) the walk that leads through the fewest runs is
taken: each is counted as far as WEIGHED, and where all are longer, the one whose newest WEIGHED
runs reach back furthest is the sparsest. So one selective condition among unselective ones costs
what it costs alone. What stays slow is looking for runs that have two common things, but never
both: then the sparser walk is gone to its end.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.model.states import RunStatus
from assay.store.reading import Ask
from assay.store.rows import Row

# How far a walk is counted: that takes a tenth of a millisecond, and to go so far a few.
WEIGHED = 1_000
# So many search attributes are weighed; who asks for more has named a selective one by then.
PAIRS_WEIGHED = 20

Pair = tuple[str, str]


class Listing(Struct, frozen=True):
    """Which runs of a namespace are asked for, and which part of them.

    `pairs` are search attributes as the look-up holds them: key and canonical value.
    """

    namespace: str
    status: RunStatus | None = None
    type: str | None = None
    claimed_by: str | None = None
    pairs: tuple[Pair, ...] = ()
    limit: int = 50
    offset: int = 0


class Span(NamedTuple):
    """Between which moments runs are looked for."""

    since: int = -(2**62)
    until: int = 2**62


class Walk(NamedTuple):
    """A way through runs that may be meant. A long one weighs more, and the more the less far back
    its newest runs reach."""

    query: str
    weight: tuple[bool, int] = (False, 0)
    pair: Pair | None = None


async def list_runs(ask: Ask, asked: Listing) -> Sequence[Row]:
    """A page of runs, newest first, those created at one moment by id."""
    page = (asked.namespace, asked.status, asked.limit, asked.offset)
    if not asked.pairs and asked.claimed_by is None:
        if asked.type is None:
            return await ask("list_by_status", *page)
        return await ask("list_by_type", *page, asked.type)
    walk, span = await _choose(ask, asked)
    if walk is None:
        return []
    rest = _text([pair for pair in asked.pairs if pair != walk.pair])
    sifted = (*page, asked.claimed_by, rest, *span)
    if walk.query == "sift_by_status":
        return await ask(walk.query, *sifted)
    return await ask(walk.query, *sifted, asked.type, *walk.pair or ())


async def _choose(ask: Ask, asked: Listing) -> tuple[Walk | None, Span]:
    """The shortest walk, and how far it has to be gone; None if no run can be meant."""
    by_kind = asked.type is not None or asked.status is not None
    if len(asked.pairs) + (asked.claimed_by is not None) + by_kind == 1:
        if asked.pairs:
            return Walk("sift_by_attribute", pair=asked.pairs[0]), Span()
        return Walk("sift_by_claimer"), Span()
    walks, span = await _weigh_pairs(ask, asked)
    if span.since > span.until:
        return None, span
    walks += await _weigh_others(ask, asked)
    return min(walks, key=lambda walk: walk.weight), span


async def _weigh_pairs(ask: Ask, asked: Listing) -> tuple[list[Walk], Span]:
    """The walks through search attributes, and the span in which runs can have all of them."""
    walks, span = list[Walk](), Span()
    if asked.pairs:
        pairs = _text(asked.pairs[:PAIRS_WEIGHED])
        rows = await ask("weigh_attributes", asked.namespace, pairs, WEIGHED)
        for key, value, runs, reach, newest, oldest in rows:
            if newest is None:
                return [], Span(1, 0)
            span = Span(max(span.since, oldest), min(span.until, newest))
            walks.append(Walk("sift_by_attribute", _weight(runs, reach), (key, value)))
    return walks, span


async def _weigh_others(ask: Ask, asked: Listing) -> list[Walk]:
    """The walks through a worker's runs, and those of a type or a status."""
    namespace, status, type = asked.namespace, asked.status, asked.type
    walks: list[Walk] = []
    if asked.claimed_by is not None:
        [found] = await ask("weigh_claimer", namespace, asked.claimed_by, WEIGHED)
        walks.append(Walk("sift_by_claimer", _weight(*found)))
    if type is not None:
        [found] = await ask("weigh_type", namespace, status, WEIGHED, type)
        walks.append(Walk("sift_by_type", _weight(*found)))
    elif status is not None:
        [found] = await ask("weigh_status", namespace, status, WEIGHED)
        walks.append(Walk("sift_by_status", _weight(*found)))
    return walks


def _weight(runs: int, reach: int | None) -> tuple[bool, int]:
    return (False, runs) if reach is None else (True, reach)


def _text(pairs: Sequence[Pair]) -> str:
    return msgspec.json.encode(pairs).decode()
