"""Operations that share a batch come out as if each had a batch of its own, refused ones included.

So whatever several operations do to the same rows, and whatever a refused one had done before it
was refused, nothing of that shows. Versions alone differ: a batch counts once.
ASSAY_EXAMPLES=5000 makes more of them than the ordinary run.
"""

import os
from collections.abc import Callable
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.errors import Refusal
from assay.model.commands import (
    CancelTimer,
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    RecordPatch,
    RecordSideEffect,
    RecordSnapshot,
    RecordStep,
    UpsertSearchAttributes,
    WaitForSignal,
)
from assay.model.operations import (
    AddActivity,
    Cancel,
    CompleteActivity,
    ContinueRun,
    CreateNamespace,
    DeleteNamespace,
    DeleteSchedule,
    Due,
    DueKind,
    FailActivity,
    HeartbeatActivity,
    Operation,
    PatchSchedule,
    PauseSchedule,
    RegisterWorker,
    RejectCommands,
    RenewLeases,
    ResumeSchedule,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.schedule import OverlapPolicy
from assay.model.time import MICROS
from assay.model.worker import Worker
from tests.unit.core.desk import NOW, Desk, activity, child, timer
from tests.unit.core.plans import EVERY_MINUTE
from tests.unit.core.scenes import once

EXAMPLES = int(os.environ.get("ASSAY_EXAMPLES", "300"))
HELD = ("held", "parent", "child", "blocked")


def scene() -> Desk:
    """Runs in every state, claimed and not, with schedules that are due."""
    desk = Desk()
    desk.do(CreateNamespace("shop"))
    desk.do(Start("order", "held", search_attributes='{"a":1}', timeout_secs=5))
    desk.do(Start("order", "parent", "shop"))
    desk.do(Start("order", "blocked"))
    desk.do(Start("order", "pending", delay_secs=60))
    first = (activity(1), once(2), timer(1, 5), timer(2, 60), WaitForSignal("go", 2))
    desk.step(*first, RecordSideEffect(1, "", "1"), RecordPatch("p"), id="held")
    desk.step(child(), child("other-child"), timer(1, 5), id="parent")
    desk.step(activity(1), id="blocked")
    desk.work(1, "held")
    desk.work(2, "held")
    for id in HELD:
        desk.claim(id)
    for policy in OverlapPolicy:
        desk.do(replace(EVERY_MINUTE, name=policy.value, overlap=policy, cron="0 * * * * *"))
    desk.do(replace(EVERY_MINUTE, namespace="shop", name="queue"))
    desk.now += 120 * MICROS
    desk.ask(*(Due(DueKind.SCHEDULE, no) for no in list(desk.schedules)))
    desk.do(Signal("held", "go", "1", "r-1"))
    desk.now += 60 * MICROS
    return desk


SCENE = scene()

ids = st.sampled_from([*["held"] * 4, "parent", "child", "other-child", "pending", "new", "new-2"])
namespaces = st.sampled_from(["main", "shop", "new"])
seqs = st.integers(1, 3)
names = st.sampled_from(["skip", "queue", "cancel_old", "allow_all"])

commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(activity, seqs, st.sampled_from(["pay", "pay", "pay", "ship"])),
    st.builds(timer, seqs, st.integers(0, 9)),
    st.builds(CancelTimer, seqs),
    st.builds(WaitForSignal, st.just("go"), st.none() | seqs),
    st.builds(child, st.sampled_from(["child", "new", "held", "other-child"])),
    st.builds(RecordSideEffect, seqs, st.just(""), st.just("2")),
    st.builds(
        RecordStep,
        seqs,
        st.just("charge"),
        seqs,
        st.none(),
        st.just("broke"),
        st.booleans(),
        st.sampled_from([0.0, 5.0]),
    ),
    st.builds(RecordPatch, st.sampled_from(["p", "q"])),
    st.builds(RecordSnapshot, st.just('{"n":1}')),
    st.builds(UpsertSearchAttributes, st.sampled_from(['{"a":2}', '{"b":1}']), st.none() | seqs),
    st.builds(ContinueAsNew, st.none(), st.lists(st.integers(1, 12), max_size=1).map(tuple)),
    st.sampled_from([CompleteWorkflow("1"), FailWorkflow("no"), CancelWorkflow("own")]),
)
STRANGE, OTHERWISE = ContinueAsNew(None, (999,)), activity(1, "ship")  # each refuses its batch
refusals = st.sampled_from([(), (), (), (STRANGE,), (OTHERWISE,)])
batches = st.builds(
    lambda given, refusal: (*given, *refusal), st.lists(commands, max_size=4), refusals
)
held = st.sampled_from([*["held"] * 3, *HELD])
rows = st.sampled_from(
    [*SCENE.runs, *SCENE.activities.rows, *SCENE.timers.rows, *SCENE.schedules, 4711]
)
tokens = st.sampled_from([run.claim_token or 0 for run in SCENE.all()])
workers = st.builds(
    lambda namespace: Worker("w-9", namespace, "me", "default", None, None, 1, 1, NOW, NOW),
    namespaces,
)
operations: st.SearchStrategy[Operation] = st.one_of(
    st.builds(SubmitCommands, held, st.just("w1"), batches),
    st.builds(SubmitCommands, held, st.just("w1"), batches),
    st.builds(RejectCommands, ids, st.just("w1"), st.just("unreadable")),
    st.builds(
        Start,
        st.sampled_from(["order", "report"]),
        ids,
        namespaces,
        use_existing=st.booleans(),
        timeout_secs=st.sampled_from([None, 9.0]),
    ),
    st.builds(Signal, ids, st.just("go"), st.none(), st.sampled_from([None, "r-1", "r-2"])),
    st.builds(Cancel, ids, st.sampled_from([None, "stop"])),
    st.builds(Terminate, ids),
    st.builds(ContinueRun, ids, st.none(), st.sampled_from([None, None, "new", "held"])),
    st.builds(AddActivity, ids, st.builds(activity, seqs, st.sampled_from(["pay", "ship"]))),
    st.builds(CreateNamespace, namespaces),
    st.builds(DeleteNamespace, namespaces),
    st.builds(
        lambda name, place: replace(EVERY_MINUTE, name=name, namespace=place), names, namespaces
    ),
    st.builds(
        PatchSchedule,
        st.just("main"),
        names,
        cron=st.sampled_from([None, "30 * * * * *", "no"]),
        queue=st.sampled_from([None, "q2"]),
    ),
    st.builds(PauseSchedule, st.just("main"), names),
    st.builds(ResumeSchedule, st.just("main"), names),
    st.builds(DeleteSchedule, st.just("main"), names),
    st.builds(CompleteActivity, rows, st.just("1")),
    st.builds(FailActivity, rows, st.just("broke")),
    st.builds(HeartbeatActivity, rows, st.just("1")),
    st.builds(UndoWorkflowClaim, rows, tokens),
    st.builds(UndoActivityClaim, rows, tokens),
    st.builds(RenewLeases, st.just("w1"), st.lists(ids, max_size=2).map(tuple)),
    st.builds(RegisterWorker, workers),
    st.builds(Due, st.sampled_from(DueKind), rows),
)


def submit(*given_commands: Command, id: str = "held") -> SubmitCommands:
    return SubmitCommands(id, "w1", given_commands)


def due(name: str) -> Due:
    row = SCENE.schedule_named("main", name)
    assert row is not None
    return Due(DueKind.SCHEDULE, row.no)


def previous(name: str) -> str:
    row = SCENE.schedule_named("main", name)
    assert row is not None
    return row.last_workflow_id or ""


def around(name: str) -> list[list[Operation]]:
    """What may come with a schedule's instant."""
    return [
        [ContinueRun(previous(name)), due(name), due(name)],
        [Terminate(previous(name)), due(name), due(name)],
        [due(name), DeleteSchedule("main", name), due(name)],
    ]


RECORDS = (
    RecordPatch("q"),
    RecordSideEffect(1, "", "1"),
    RecordSideEffect(2, "", "2"),
    UpsertSearchAttributes('{"b":1}', None),
    RecordSnapshot('{"n":1}'),
    timer(3, 5),
    CancelTimer(2),
    child("new"),
)
MEETINGS: list[list[Operation]] = [
    [submit(*RECORDS, STRANGE), submit(*RECORDS)],
    [submit(*RECORDS, STRANGE), submit(RecordPatch("p"), activity(1))],
    [submit(*RECORDS, OTHERWISE), submit(*RECORDS), Start("order", "new")],
    [submit(ContinueAsNew(None, ()), STRANGE), ContinueRun("held"), ContinueRun("held")],
    [Terminate("held"), Signal("held", "go", None, "r-2"), Signal("held", "go", None, "r-2")],
    [Signal("held", "go", None, "r-2"), Terminate("held"), Signal("held", "go", None, "r-2")],
    *(meeting for each in OverlapPolicy for meeting in around(each)),
    [submit(child("new"), id="parent"), Terminate("new"), submit(child("new"), id="parent")],
    [Cancel("parent"), submit(ContinueAsNew(None, ()), id="child"), Terminate("child")],
]


@pytest.mark.parametrize("together", MEETINGS)
def test_operations_that_meet_on_the_same_rows(together: list[Operation]) -> None:
    compare(together)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(operations, min_size=2, max_size=7))
def test_a_batch_comes_out_like_its_operations_one_by_one(
    given_operations: list[Operation],
) -> None:
    compare(given_operations)


def compare(given_operations: list[Operation]) -> None:
    """Decide them in one batch, and each in its own."""
    together, alone = deepcopy(SCENE), deepcopy(SCENE)
    outcomes = together.ask(*given_operations)
    one_by_one = [alone.ask(operation)[0] for operation in given_operations]
    assert [said(outcome) for outcome in outcomes] == [said(outcome) for outcome in one_by_one]
    assert everything(together) == everything(alone)


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(st.lists(operations, min_size=1, max_size=5))
def test_what_is_refused_leaves_what_it_found(given_operations: list[Operation]) -> None:
    desk = deepcopy(SCENE)
    for operation in given_operations:
        before = everything(desk)
        outcome = desk.ask(operation)[0]
        if isinstance(outcome, Refusal) and not isinstance(operation, SubmitCommands):
            assert desk.decision.is_empty
            assert everything(desk) == before


def said(outcome: object) -> str:
    """An outcome without versions."""
    if isinstance(outcome, Refusal):
        return f"{type(outcome).__name__}: {outcome}"
    return str(_unversioned(outcome))


def _unversioned(value: object) -> object:
    fields = getattr(value, "__struct_fields__", None)
    if fields is None:
        return value
    return {name: _unversioned(getattr(value, name)) for name in fields if name != "ver"}


def everything(desk: Desk) -> object:
    """All that is kept, versions aside."""
    kept: list[Callable[[Desk], object]] = [
        lambda of: [_unversioned(of.runs[no]) for no in sorted(of.runs)],
        lambda of: [_unversioned(row) for _, row in sorted(of.activities.rows.items())],
        lambda of: [_unversioned(row) for _, row in sorted(of.timers.rows.items())],
        lambda of: [_unversioned(row) for _, row in sorted(of.schedules.items())],
        lambda of: {no: list(told) for no, told in of.history.items()},
        lambda of: of.snapshots,
        lambda of: (of.requests, of.namespaces, of.attributes),
        lambda of: {place: runs for place, runs in of.counts.items() if runs},
        lambda of: of.workers,
    ]
    return [each(desk) for each in kept]
