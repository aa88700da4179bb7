"""Command batches: any that may come, and what the model makes of them."""

from hypothesis import strategies as st

from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    WaitForSignal,
)
from assay.model.retry import RetryPolicy
from tests.properties.flows import CLOSES_AFTER, SILENT_FOR
from tests.properties.model import World

ids = st.sampled_from(["a", "b", "c", "k1", "k2"])
seqs = st.integers(1, 3)
rarely = st.sampled_from([True, False, False])
workers = st.sampled_from(["w1", "w2"])
names = st.sampled_from(["go", "stop"])
activities = st.builds(
    lambda seq, name, most: ScheduleActivity(
        seq, name, "default", None, RetryPolicy(most, 1.0, 2.0, CLOSES_AFTER, SILENT_FOR)
    ),
    seqs,
    st.sampled_from(["pay"] * 9 + ["ship"]),
    st.integers(1, 2),
)
commands = st.lists(
    st.one_of(
        activities,
        activities,
        st.builds(ScheduleTimer, seqs, st.integers(0, 60)),
        st.builds(WaitForSignal, names, st.none()),
        st.builds(StartChild, st.just("step"), ids, st.just("default"), st.none()),
    ),
    max_size=3,
)
endings = st.sampled_from(
    [None] * 7 + [CompleteWorkflow("1"), FailWorkflow("x"), FailWorkflow("y"), CancelWorkflow(None)]
)

ENDS = {
    CompleteWorkflow: ("COMPLETED", "WorkflowCompleted"),
    FailWorkflow: ("FAILED", "WorkflowFailed"),
    CancelWorkflow: ("CANCELLED", "WorkflowCancelled"),
}


def apply(world: World, id: str, batch: tuple[Command, ...]) -> bool:
    """What a batch does to its run; False: it asks for something else than history holds."""
    for command in batch:
        match command:
            case ScheduleActivity(seq=seq, name=name, policy=policy):
                if not world.schedule(id, seq, name, policy.max_attempts):
                    return False
            case ScheduleTimer(seq=seq, duration_secs=secs):
                world.set_timer(id, seq, int(secs))
            case WaitForSignal(name=name):
                world.wait(id, name)
            case StartChild(id=kid):
                world.start_child(id, kid)
            case _:
                world.end(id, *ENDS[type(command)])
    return True
