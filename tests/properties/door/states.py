"""Good requests that what is there forbids: things unknown, over, taken, held by another (§5)."""

import json
from collections.abc import Iterator

from tests.properties.door.requests import ABSENT, ABSENT_NUMBER, Case
from tests.properties.door.world import DOER, HOLDER, World
from tests.support.http import Json

ENDED = ("ended", "failed", "cancelled", "child", "chain")
GONE = (ABSENT, "chain-2", "HELD", "held%20")
OPEN = ("held", "pending", "parent", "chain-3")
STARTABLE: Json = {"workflow_type": "Story", "task_queue": "q"}
ACTIVITY: Json = {"name": "work", "task_queue": "q", "seq": 9}
RETRY: Json = {"requested_by": "ann", "reason": "mended"}
SCHEDULE: Json = {"name": "yearly", "workflow_type": "Story", "cron_expr": "@yearly"}


def post(path: str, body: Json, status: int, method: str = "POST") -> Case:
    content = None if body is None else json.dumps(body).encode()
    return Case(method, path, content, frozenset({status}))


def state_cases(world: World) -> list[Case]:
    return [*starts(), *runs(), *workflow_tasks(world), *activity_tasks(world), *tenants()]


def starts() -> Iterator[Case]:
    for id in (*OPEN, *ENDED):
        yield post("/workflows", STARTABLE | {"workflow_id": id}, 409)
        for other in ({"workflow_type": "Other"}, {"namespace": "tenant"}):
            body = STARTABLE | {"workflow_id": id, "if_exists": "use"} | other
            yield post("/workflows", body, 409)
    yield post("/workflows", STARTABLE | {"namespace": ABSENT}, 404)
    yield post("/workflows", STARTABLE | {"namespace": ""}, 404)
    yield post("/workers/register", {"identity": "i", "queue": "q", "namespace": ABSENT}, 404)


def runs() -> Iterator[Case]:
    for id in (*ENDED, *GONE):
        status = 404 if id in GONE else 409
        yield post(f"/workflows/{id}/signal/go", {"payload": 1}, status)
        yield post(f"/workflows/{id}/signal/go", {"request_id": "r"}, status)
        yield post(f"/workflows/{id}/activities", ACTIVITY, status)
        yield post(f"/workflows/{id}/cancel", None, 404)
        yield post(f"/workflows/{id}/terminate", {"reason": "over"}, 404)
    for id in GONE:
        yield post(f"/workflows/{id}/retry", RETRY, 404)
        yield post(f"/workflows/{id}/continue-as-new", None, 404)
        for method, path in (("DELETE", ""), ("GET", ""), ("GET", "/result")):
            yield post(f"/workflows/{id}{path}", None, 404, method)
    for id in OPEN:
        yield post(f"/workflows/{id}", None, 409, "DELETE")
    for id in (*OPEN, "ended", "cancelled", "child", "chain"):
        yield post(f"/workflows/{id}/retry", RETRY, 409)
    for id in ("held", "ended"):
        yield post(f"/workflows/{id}/continue-as-new", {"workflow_id": "pending"}, 409)
    yield post("/workflows/chain/result", None, 404, "GET")  # a link of it is gone
    yield post("/workflows/held/activities", ACTIVITY | {"seq": 1, "name": "other"}, 409)


def workflow_tasks(world: World) -> Iterator[Case]:
    def commands(id: str, worker: str, status: int, **lease: str) -> Case:
        batch = [{"type": "CompleteWorkflow"}]
        body = {"worker_id": worker, "commands": batch, **lease}
        return post(f"/workflow-tasks/{id}/commands", body, status)

    yield commands(ABSENT, HOLDER, 404)
    for id in (*ENDED, "pending", "parent"):
        yield commands(id, HOLDER, 409)
    yield commands("held", "stranger", 409)
    yield commands("held", "stranger", 409, lease=world.lease)
    for lease in ("", "c1", world.lease + "0", world.lease.upper() + "X", "x" * 5_000):
        yield commands("held", HOLDER, 409, lease=lease)


def activity_tasks(world: World) -> Iterator[Case]:
    running = world.targets["tasks"]
    wrong: list[Json] = [
        {"worker_id": "stranger"},
        {"worker_id": ""},
        {"attempt": 2},
        {"attempt": 0},
        {"attempt": -1.0},
        {"token": "c1"},
        {"token": ""},
        {"token": world.token + "0"},
        {"worker_id": DOER, "attempt": 2, "token": world.token},
        {"worker_id": "stranger", "attempt": 1, "token": world.token},
        {"worker_id": DOER, "attempt": 1, "token": "c1"},
    ]
    for report, body in (("complete", {"result": 1}), ("fail", {"error": "e"}), ("heartbeat", {})):
        for fence in wrong:
            yield post(f"/tasks/{running}/{report}", body | fence, 409)
        for idle in world.idle:
            yield post(f"/tasks/{idle}/{report}", body, 409)
        for absent in (ABSENT_NUMBER, "0", "-1", "-9007199254740992"):
            yield post(f"/tasks/{absent}/{report}", body, 404)
    yield post(f"/activities/{ABSENT_NUMBER}", None, 404, "GET")


def tenants() -> Iterator[Case]:
    yield post("/namespaces", {"name": "tenant"}, 409)
    yield post("/namespaces", {"name": "main"}, 409)
    yield post("/namespaces/main", None, 404, "DELETE")
    yield post(f"/namespaces/{ABSENT}", None, 404, "DELETE")
    yield post("/schedules", SCHEDULE, 409)
    yield post("/schedules", SCHEDULE | {"namespace": ABSENT}, 404)
    for place in (f"/schedules/{ABSENT}{{}}", "/schedules/yearly{}?namespace=tenant"):
        yield post(place.format(""), {"cron_expr": "@daily"}, 404, "PATCH")
        yield post(place.format(""), None, 404, "PATCH")
        yield post(place.format("/pause"), None, 404)
        yield post(place.format("/resume"), None, 404)
        yield post(place.format(""), None, 404, "DELETE")
