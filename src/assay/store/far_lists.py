"""Lists that may have to look far: a walk through a million runs takes a second.

Nobody else is to wait for them; how that is seen to is each store's own affair.
"""

from collections.abc import Sequence

# Queries that answer with the rows of `run_views`; those that sift may look at any number of runs,
# the others at as many as they skip.
SIFTING = frozenset({"sift_by_status", "sift_by_type", "sift_by_claimer", "sift_by_attribute"})
SKIPPING = frozenset({"list_by_status", "list_by_type"})
OFFSET = 3
NEAR = 1_000


def looks_far(name: str, parameters: Sequence[object]) -> bool:
    """Whether a query may take so long that it is better read aside."""
    if name in SIFTING:
        return True
    offset = parameters[OFFSET] if name in SKIPPING else 0
    return isinstance(offset, int) and offset > NEAR
