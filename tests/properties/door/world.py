"""A little of everything that a server can hold, so that a request gone wrong has what to hurt."""

from tests.support import commands
from tests.support.api import Api
from tests.support.caller import at
from tests.support.http import Json

FAR = 1_000_000.0  # seconds: nothing comes due while a test runs
HOLDER, DOER = "holder", "doer"


class World:
    """What there is, by the first word of the paths that lead to it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.lease = ""
        self.token = ""
        self.idle: list[int] = []  # activities that nobody has claimed
        self.targets: dict[str, str] = {}
        self.runs = ["held", "pending", "ended", "failed", "cancelled", "parent", "child"]

    async def furnish(self) -> None:
        await self._tenants()
        await self._work_under_way()
        await self._ends()
        await self._families()
        self.targets |= {
            "workflows": "held",
            "workflow-tasks": "held",
            "schedules": "yearly",
            "namespaces": "tenant",
        }

    async def _tenants(self) -> None:
        api = self.api
        await api.send("POST", "/namespaces", {"name": "tenant"}, 201)
        for name in ("yearly", "paused"):
            body: Json = {
                "name": name,
                "workflow_type": "Story",
                "cron_expr": "0 0 1 1 *",
                "input": [1],
            }
            await api.send("POST", "/schedules", body, 201)
        await api.send("POST", "/schedules/paused/pause")
        body = {"identity": "ann", "queue": api.queue, "workflows": ["Story"]}
        await api.send("POST", "/workers/register", body)

    async def _work_under_way(self) -> None:
        api = self.api
        options: Json = {"task_queue": api.queue, "start_to_close_secs": FAR}
        await api.start("held", input={"a": [1]}, search_attributes={"tier": "gold"})
        await api.advance(
            "held",
            *(commands.activity(seq, input=[seq], **options) for seq in (1, 2)),
            commands.timer(1, FAR),
            commands.wait("go"),
            {"type": "RecordSnapshot", "state": {"go": 1}},
        )
        activity = await api.take(worker=DOER)
        await api.beat(activity["id"], {"at": 1})
        self.targets |= {"tasks": str(activity["id"]), "activities": str(activity["id"])}
        self.token = activity["token"]
        self.idle += [
            event.payload["activity_id"]
            for event in await api.events("held", "ActivityScheduled")
            if event.payload["activity_id"] != activity["id"]
        ]
        await api.signal("held", "other", {"b": 2})
        self.lease = (await api.claim("held", worker=HOLDER))["lease"]

    async def _ends(self) -> None:
        api = self.api
        await api.start("ended", input=1)
        await api.advance("ended", commands.complete({"r": 1}))
        await api.start("failed")
        once: Json = {"task_queue": "once", "max_attempts": 1}
        await api.advance("failed", commands.activity(1, **once))
        record = await api.poll_activity(worker=DOER, queue="once")
        await api.fail(record["id"])
        self.idle.append(record["id"])
        await api.advance("failed", commands.fail())
        await api.start("cancelled")
        await api.cancel("cancelled", "no need")

    async def _families(self) -> None:
        api = self.api
        await api.start("parent")
        await api.advance("parent", commands.child("child", task_queue=api.queue))
        await api.terminate("child")
        await api.start("chain")
        for old, new in (("chain", "chain-2"), ("chain-2", "chain-3")):
            await api.send("POST", at(old, "continue-as-new"), {"workflow_id": new}, 201)
        await api.send("DELETE", at("chain-2"), status=204)
        self.runs += ["chain", "chain-3"]
        await api.start("pending", start_delay_secs=FAR)
