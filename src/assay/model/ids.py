"""How derived ids are written. They are unique by the caller's number, never by a clock."""

from assay.model.time import MICROS

_LONGEST = 1_000  # bytes of an id, like those that clients may choose
_KEPT = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._~-")


def generated_workflow_id(workflow_type: str, no: int, now: int) -> str:
    """An id nobody named: the type made safe for URLs, then a suffix that sorts by start time."""
    readable = "".join(char if char in _KEPT else "-" for char in workflow_type.lower())
    suffix = f"-{now:014x}{no:010x}"
    return f"wf-{readable}"[: _LONGEST - len(suffix)] + suffix


def run_id(workflow_id: str, now: int) -> str:
    """The id of one execution, as clients see it."""
    return f"run-{workflow_id}-{now // MICROS}"


def claim_token(token: int) -> str:
    """A claim's fence as clients see it."""
    return f"c{token:x}"
