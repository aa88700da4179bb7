"""Why nothing happens: what the open runs wait for, in a line."""

from assay.sdk.client import Client
from assay.sdk.records import RunStatus

OPEN: tuple[RunStatus, ...] = ("PENDING", "RUNNING", "WAITING")
RUNS_TOLD = 5


async def reasons(client: Client) -> str:
    """The first open runs of the client's namespace, each with what it waits for."""
    told: list[str] = []
    for status in OPEN:
        for run in await client.workflows.list(status, limit=RUNS_TOLD):
            told += await _reasons_of(client, run["id"])
    if not told:
        return f"no run of namespace {client.namespace!r} is open"
    more = "; …" if len(told) > RUNS_TOLD else ""
    return "; ".join(told[:RUNS_TOLD]) + more


async def _reasons_of(client: Client, id: str) -> list[str]:
    run = await client.workflows.describe(id)
    if run is None:
        return []
    said: list[str] = []
    for reason in run.get("waiting_for") or ():
        name = "" if reason["name"] is None else f" {reason['name']!r}"
        said.append(f"{id!r} waits for {reason['kind'].replace('_', ' ')}{name} ({reason['note']})")
    return said
