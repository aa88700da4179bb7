"""Starts: sent once, and what is done when their answer is lost.

A start with an id can be told from another by its id; one without would start a second run.
"""

import time
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from assay.sdk.client.calls import Calls, at
from assay.sdk.faults import AnswerLost, Conflict
from assay.sdk.records import DescribedRun, RunStatus, StartedRecord
from assay.wire.exchange.operations import StartRun

CLOCKS_APART_SECS = 60.0  # how far the clocks of an engine and of its clients may differ


async def start(calls: Calls, fields: Mapping[str, Any]) -> StartedRecord:
    """Begin a run, once."""
    has_id = bool((fields["workflow_id"] or "").strip())
    use_existing = fields["if_exists"] == "use"
    began = time.time()
    try:
        return await _send(calls, fields)
    except AnswerLost:
        if not has_id or use_existing:
            raise
    try:
        return await _send(calls, fields)
    except Conflict as conflict:
        run = await calls.find(DescribedRun, at("workflows", fields["workflow_id"]))
        if run is None or not is_same(run, fields, began):
            conflict.add_note(
                "the answer to a first start was lost; it was refused too, or is gone"
            )
            raise
        return {"workflow_id": run["id"], "run_id": run["run_id"], "status": run["status"]}


async def _send(calls: Calls, fields: Mapping[str, Any]) -> StartedRecord:
    given = {name: value for name, value in fields.items() if value is not None}
    outcome = await calls.exchanging.perform(StartRun(**given))
    return {
        "workflow_id": str(outcome.workflow_id),
        "run_id": str(outcome.run_id),
        "status": cast("RunStatus", outcome.state),
    }


def is_same(run: DescribedRun, fields: Mapping[str, Any], began: float) -> bool:
    """Whether a run is what that start would have made, and was made since."""
    return (
        run["workflow_type"] == fields["workflow_type"]
        and run["namespace"] == fields["namespace"]
        and run["task_queue"] == fields["task_queue"]
        and _json(run["input"]) == _json(fields["input"])
        and run["created_at"] >= began - CLOCKS_APART_SECS
    )


def _json(text: str | msgspec.Raw | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
