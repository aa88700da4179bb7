"""What holds of every server whatever it was sent: its records fit together, and it works on."""

import json
from collections.abc import Iterable

from tests.support import commands
from tests.support.api import Api
from tests.support.caller import at
from tests.support.http import Json

ENDINGS = {
    "COMPLETED": {"WorkflowCompleted", "WorkflowContinuedAsNew"},
    "FAILED": {"WorkflowFailed"},
    "CANCELLED": {"WorkflowCancelled"},
    "TIMED_OUT": {"WorkflowTimedOut"},
}
TERMINAL = set().union(*ENDINGS.values())


async def check_world(api: Api, ids: Iterable[str]) -> None:
    """Look at all that clients can see of these runs."""
    for id in dict.fromkeys(ids):
        answer = await api.ask("GET", at(id))
        if answer.status == 404:
            assert await api.get(at(id, "events")) == []
            continue
        record = answer.json()
        await check_run(api, record)


async def check_run(api: Api, record: Json) -> None:
    """A run's record agrees with its history, whose payloads are all JSON."""
    history = await api.history(record["id"])  # gapless, each payload parsed
    status, last = record["status"], history[-1].type
    assert (status in ENDINGS) == (last in TERMINAL), (record, last)
    assert status not in ENDINGS or last in ENDINGS[status], (record, last)
    assert (record["completed_at"] is not None) == (status in ENDINGS), record
    assert history[0].type == "WorkflowStarted", history
    for field in ("input", "result", "search_attributes"):
        if record[field] is not None:
            json.loads(record[field])
    retried = any(event.type == "ActivityRetryRequested" for event in history)
    for event in history:
        if event.type == "ActivityScheduled":
            answer = await api.ask("GET", f"/activities/{event.payload['activity_id']}")
            if answer.status == 404:
                assert retried, event  # which deletes those of higher seqs
                continue
            activity = answer.json()
            assert activity["workflow_id"] == record["id"], activity
            assert activity["input"] == event.payload["input"], activity


async def check_life(api: Api) -> None:
    """A run goes from its start to its end."""
    api.queue = "life"
    assert (await api.get("/health"))["status"] == "ok"
    run = await api.start(input=1)
    await api.advance(run, commands.activity(1, task_queue="life"))
    activity = await api.take()
    await api.complete(activity["id"], 2, token=activity["token"])
    await api.advance(run, commands.complete(3))
    record = await api.get(at(run, "result"))
    assert (record["status"], record["result"]) == ("COMPLETED", "3")
