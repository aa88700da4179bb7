"""What becomes of a run: its end is awaited, then its value is read or its error raised."""

import asyncio
import contextlib
import json
from typing import Any

import msgspec

from assay.sdk.client.calls import ACCEPTED, OK, Calls, at, parsed
from assay.sdk.client.exchanging import Scattered
from assay.sdk.faults import (
    ClientFault,
    RequestTimeout,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowTerminated,
    WorkflowTimedOut,
    refusal,
)
from assay.sdk.records import EventRecord, RunRecord

NOT_FOUND = 404
LONGEST_HOLD_SECS = 60.0  # contract §5.20
ON_THE_WAY_SECS = 30.0  # how long an answer may come after the time that it was held for
LAST_ON_THE_WAY_SECS = 1.0  # the same when the caller's own time is up
HURRIED_SECS = 0.2  # between questions to an engine that holds nothing because it is stopping


async def outcome(calls: Calls, id: str, timeout: float | None, kind: Any) -> Any:
    """The value that a run returned in the end."""
    if timeout is not None and timeout <= 0:
        return await _asked_for(calls, id, timeout, kind)  # nothing is waited for
    began = asyncio.get_running_loop().time()
    try:
        ending = await calls.exchanging.ended(id, timeout)
    except RequestTimeout:
        raise  # the engine stands still
    except TimeoutError:
        raise RequestTimeout(f"workflow {id!r} has not ended within {timeout:g} s") from None
    except Scattered:
        left = None if timeout is None else timeout - (asyncio.get_running_loop().time() - began)
        return await _asked_for(calls, id, left, kind)
    if ending.status is None:
        text = msgspec.json.encode({"error": f"not found: workflow {id}"})
        raise refusal(NOT_FOUND, text)
    if ending.status == "COMPLETED":
        return calls.codec.decode(ending.result, kind)
    raise await _failure(calls, ending.last_id, ending.status, ending.error)


async def _asked_for(calls: Calls, id: str, timeout: float | None, kind: Any) -> Any:
    record = await ended(calls, id, timeout)
    if record["status"] == "COMPLETED":
        return calls.codec.decode(record["result"], kind)
    raise await _failure(calls, record["id"], record["status"], record["error"])


async def ended(calls: Calls, id: str, timeout: float | None) -> RunRecord:
    """The record of the last run of a chain once that has ended. The engine holds the answer."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        left = LONGEST_HOLD_SECS + 1 if timeout is None else began + timeout - loop.time()
        hold = max(0.0, min(left, LONGEST_HOLD_SECS))
        slack = ON_THE_WAY_SECS if left > LONGEST_HOLD_SECS else LAST_ON_THE_WAY_SECS
        asked_at = loop.time()
        path = at("workflows", id, "result", wait_secs=f"{hold:.3f}")
        reply = await calls.ask("GET", path, expect=(OK, ACCEPTED), secs=hold + slack)
        if reply.status == OK:
            record: RunRecord = parsed(reply)
            return record
        now = loop.time()
        if timeout is not None and now - began >= timeout:
            raise RequestTimeout(f"workflow {id!r} has not ended within {timeout:g} s")
        if now - asked_at < hold / 2:
            await asyncio.sleep(HURRIED_SECS)


async def _failure(calls: Calls, id: str, status: str, error: str | None) -> WorkflowFailed:
    """The error for a run that did not complete; its last event tells more than its record."""
    if status == "TIMED_OUT":
        return WorkflowTimedOut(id, status, error)
    last: Any = None
    with contextlib.suppress(ClientFault, LookupError):  # then without what only it knows
        path = at("workflows", id, "events", limit=1, order="desc")
        [event] = await calls.get(list[EventRecord], path)
        last = json.loads(event["payload"] or "null")
    said = last if isinstance(last, dict) else {}
    if status == "CANCELLED":
        return WorkflowCancelled(id, status, error or said.get("reason"))
    if said.get("terminated") is True:
        return WorkflowTerminated(id, status, error)
    return WorkflowFailed(id, status, error)
