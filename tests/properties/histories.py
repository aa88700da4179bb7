"""The rules every history keeps."""

from assay.model.events import Event
from tests.properties.flows import Flow

TERMINAL = {"WorkflowCompleted", "WorkflowFailed", "WorkflowCancelled", "WorkflowTimedOut"}


def history_is_sound(events: tuple[Event, ...], flow: Flow) -> None:
    """As the model has it, without gap, one end, and nothing after it but an operator retry."""
    assert [str(event.type) for event in events] == flow.history
    assert {event.seq for event in events if event.voided_by is not None} == flow.void
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    ends = [event for event in events if event.type in TERMINAL]
    standing = [event.seq for event in ends if event.voided_by is None]
    assert standing == ([] if flow.is_open else [len(events)])
    for event in ends:
        if event.voided_by is not None:
            assert event.voided_by == event.seq + 1
            assert events[event.seq].type == "ActivityRetryRequested"
