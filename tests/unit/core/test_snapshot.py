"""Snapshots: the newest one of a run, under the number of events before its batch."""

import pytest

from assay.errors import NonDeterminism
from assay.model.commands import CompleteWorkflow, RecordSideEffect, RecordSnapshot
from assay.model.operations import Signal
from assay.model.snapshot import Snapshot
from tests.unit.core.desk import Desk, activity
from tests.unit.core.scenes import begun


def test_a_snapshot_stands_under_the_events_before_its_batch() -> None:
    desk = Desk()
    desk.start()
    desk.do(Signal("wf", "go"))
    desk.step(RecordSideEffect(1, "", "1"), RecordSnapshot('{"n":1}'))
    run = desk.at()
    assert desk.snapshots[run.no] == Snapshot(run.no, 2, '{"n":1}', desk.now)
    assert run.last_seq == 3


def test_the_newest_stays_and_of_one_batch_the_last() -> None:
    desk = begun(RecordSnapshot('{"n":1}'), RecordSnapshot('{"n":2}'))
    no = desk.at().no
    assert (desk.snapshots[no].event_seq, desk.snapshots[no].state) == (1, '{"n":2}')
    desk.do(Signal("wf", "go"))
    desk.step(RecordSnapshot('{"n":3}'), CompleteWorkflow(None))
    assert (desk.snapshots[no].event_seq, desk.snapshots[no].state) == (2, '{"n":3}')


def test_a_refused_batch_leaves_the_snapshot_before_it() -> None:
    desk = begun(RecordSnapshot('{"n":1}'), activity(1))
    desk.claim()
    with pytest.raises(NonDeterminism):
        desk.submit(RecordSnapshot('{"n":2}'), activity(1, "ship"))
    assert desk.snapshots[desk.at().no].state == '{"n":1}'
