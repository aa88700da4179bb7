"""The client's records are those that the engine writes, field by field."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from assay.model import schedule, situation, states
from assay.sdk import records
from assay.wire import answers, describing, snapshots, tenancy
from assay.wire import records as wire

SAME: list[tuple[type[Any], type[msgspec.Struct]]] = [
    (records.RunRecord, wire.RunRecord),
    (records.DescribedRun, describing.DescribedRun),
    (records.WaitingFor, describing.WaitingFor),
    (records.ContinuedRecord, wire.ContinuedRecord),
    (records.StartedRecord, answers.Started),
    (records.EventRecord, wire.EventRecord),
    (records.ActivityRecord, wire.ActivityRecord),
    (records.AttemptRecord, wire.AttemptRecord),
    (records.RetriedRecord, answers.Retried),
    (records.RunState, snapshots.RunState),
    (records.QueryValue, snapshots.QueryValue),
    (records.ScheduleRecord, wire.ScheduleRecord),
    (records.WorkerRecord, tenancy.WorkerRecord),
    (records.NamespaceRecord, tenancy.NamespaceRecord),
    (records.NamespaceStats, tenancy.NamespaceStats),
    (records.QueueStats, tenancy.QueueStats),
]
WORDS: list[tuple[Any, type[Any]]] = [
    (records.RunStatus, states.RunStatus),
    (records.ActivityStatus, states.ActivityStatus),
    (records.OverlapPolicy, schedule.OverlapPolicy),
    (records.ReasonKind, situation.ReasonKind),
]
FOR_WORKERS = {"token"}  # part of an activity as a poll hands it out


@pytest.mark.parametrize(("ours", "theirs"), SAME, ids=lambda kind: kind.__name__)
def test_fields_are_the_same(ours: type[Any], theirs: type[msgspec.Struct]) -> None:
    assert set(get_type_hints(ours)) == set(theirs.__struct_fields__) - FOR_WORKERS


@pytest.mark.parametrize(("ours", "theirs"), WORDS)
def test_words_are_the_same(ours: Any, theirs: type[Any]) -> None:
    assert set(get_args(ours)) == {str(word) for word in theirs}
