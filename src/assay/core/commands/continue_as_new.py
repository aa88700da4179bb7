"""A handler ends its run and goes on as a new one."""

from assay.core.continue_run import derived_id, succeed
from assay.core.draft import Draft
from assay.errors import BadValue
from assay.model.commands import ContinueAsNew
from assay.model.events import Event, EventType
from assay.model.run import Run

SIGNALS = frozenset({EventType.SIGNAL_RECEIVED})


def continue_as_new(draft: Draft, run: Run, command: ContinueAsNew, seen: int) -> Run:
    """The successor gets the signals the handler names and those it could not know of."""
    new_id = derived_id(draft, run)
    carried = _carried(draft, run, command.carry, seen)
    succeed(draft, run, new_id, command.input, carried)
    closed = draft.run(run.no)
    assert closed is not None
    return closed


def _carried(draft: Draft, run: Run, carry: tuple[int, ...], seen: int) -> tuple[Event, ...]:
    if not carry and run.last_seq == seen:
        return ()
    if max(carry, default=0) > seen:
        # A batch that may answer an older claim, and names what only the newest one has shown: what
        # else that has shown is consumed (tests/unit/core/test_older_claims.py).
        seen = run.claim_seq
    signals = {event.seq: event for event in draft.standing(run, SIGNALS)}
    strange = next((seq for seq in carry if seq not in signals), None)
    if strange is not None:
        raise BadValue(f"carry names event {strange} of workflow {run.id}, which is no signal")
    wanted = frozenset(carry)
    return tuple(event for seq, event in signals.items() if seq in wanted or seq > seen)
