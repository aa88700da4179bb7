"""What follows from the changes of a batch: entries of the attribute look-up, counts of runs."""

from collections.abc import Iterable

from assay.core.attributes import attributes_of, pairs_of
from assay.model.decision import Attribute, Change, Count
from assay.model.run import Run


def attribute_changes(
    runs: Iterable[Change[Run]],
) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
    """Entries of the look-up that come, and those that go."""
    added: list[Attribute] = []
    removed: list[Attribute] = []
    for change in runs:
        before, after = change.before, change.after
        old = None if before is None else before.search_attributes
        new = None if after is None else after.search_attributes
        if old == new:
            continue
        had, has = pairs_of(old), pairs_of(new)
        if before is not None:
            gone = {key: value for key, value in had.items() if has.get(key) != value}
            removed += attributes_of(before, gone)
        if after is not None:
            come = {key: value for key, value in has.items() if had.get(key) != value}
            added += attributes_of(after, come)
    return tuple(added), tuple(removed)


def count_changes(runs: Iterable[Change[Run]]) -> tuple[Count, ...]:
    """By how much the numbers of runs change, by namespace and status."""
    counts: dict[tuple[str, str], Count] = {}
    for change in runs:
        before, after = change.before, change.after
        if before is not None and after is not None and before.status is after.status:
            continue
        for run, by in ((before, -1), (after, 1)):
            if run is not None:
                place = (run.namespace, run.status)
                known = counts.get(place)
                total = by if known is None else known.by + by
                counts[place] = Count(run.namespace, run.status, total)
    return tuple(count for count in counts.values() if count.by)
