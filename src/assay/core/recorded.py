"""What replays of a run had recorded: known or new?

Above the run's highest number of its kind a record is new; below it history tells. So the common
case, the next number, reads nothing (tests/unit/core/test_record.py).
"""

import msgspec

from assay.core.attributes import canonical
from assay.core.draft import Draft
from assay.model.events import RECORDED, Event, EventType
from assay.model.run import Run

Known = tuple[str, str | int, int]
"""Kind, number (or id), and the attempt of a step's attempt."""


class _Recorded(msgspec.Struct):
    side_effect_seq: int = 0
    step_seq: int = 0
    attempt: int = 0
    patch_id: str = ""
    upsert_seq: int | None = None
    patch: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Recorded).decode


def is_known(draft: Draft, run: Run, top: int, number: int, *keys: Known) -> bool:
    """Whether any of these is recorded; `top` is the highest number of the kind so far."""
    return number <= top and any(key in _all(draft, run) for key in keys)


def append_record(draft: Draft, run: Run, kind: EventType, text: str, known: Known) -> Run:
    """Add a record to the history. The caller puts the run that comes back."""
    if run.no in draft.recorded:
        draft.recorded[run.no].add(known)
    return draft.append(run, kind, text)


def is_latest_patch(draft: Draft, run: Run, patch: str) -> bool:
    """An upsert without number that holds the same, with nothing but upserts since."""
    wanted, seq = canonical(patch), run.last_seq
    for event in reversed(draft.standing(run, RECORDED)):
        if event.seq != seq or event.type is not EventType.SEARCH_ATTRIBUTES_UPSERTED:
            return False
        said = _decode(event.payload or "{}")
        if said.upsert_seq is None and canonical(said.patch) == wanted:
            return True
        seq -= 1
    return False


def _all(draft: Draft, run: Run) -> set[Known]:
    known = draft.recorded.get(run.no)
    if known is None:
        known = {_known(event) for event in draft.standing(run, RECORDED)}
        draft.recorded[run.no] = known
    return known


def _known(event: Event) -> Known:
    said = _decode(event.payload or "{}")
    match event.type:
        case EventType.SIDE_EFFECT_RECORDED:
            return "side effect", said.side_effect_seq, 0
        case EventType.STEP_COMPLETED | EventType.STEP_FAILED:
            return "step", said.step_seq, 0
        case EventType.STEP_ATTEMPT_FAILED:
            return "step", said.step_seq, said.attempt
        case EventType.PATCH_RECORDED:
            return "patch", said.patch_id, 0
        case _:
            return "upsert", said.upsert_seq or 0, 0
