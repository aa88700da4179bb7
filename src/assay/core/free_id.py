"""Derived ids: the first of `base`, `base-2`, `base-3` … that no run has."""

from functools import partial
from itertools import count

from assay.core.draft import Draft
from assay.core.view import look_at_all

FIRST_LOOK = 4


def free_id(draft: Draft, base: str) -> str:
    """A free id. Where many are taken it looks at twice as many at a time."""
    if draft.run_by_id(base) is None:
        return base
    first, width = 2, FIRST_LOOK
    for _ in count():
        names = [f"{base}-{number}" for number in range(first, first + width)]
        look_at_all(partial(draft.run_by_id, name) for name in names)
        for name in names:
            if draft.run_by_id(name) is None:
                return name
        first, width = first + width, 2 * width
    raise AssertionError("unreachable")
