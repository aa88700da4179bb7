"""The calls of a plain HTTP worker and client: request messages out, the needed fields in."""

import msgspec

from benchmarks.load import get, post

PREFIX = "/api/v1"
NAMESPACE = "main"
QUEUE = "bench"
WORKFLOW = "bench"
ACTIVITY = "step"
HELD_SECS = 60.0  # the longest hold the contract admits


class Event(msgspec.Struct, gc=False):
    """The part of a history event that this worker replays."""

    event_type: str
    payload: msgspec.Raw = msgspec.Raw(b"null")


class WorkflowTask(msgspec.Struct, gc=False):
    """A claimed workflow task."""

    workflow_id: str
    lease: str
    history: list[Event]


class ActivityTask(msgspec.Struct, gc=False):
    """A claimed activity, or with id 0 the answer that there is none."""

    id: int = 0
    input: str | None = None
    attempt: int = 0
    token: str = ""


class Outcome(msgspec.Struct, gc=False):
    """The part of an ActivityCompleted payload that this worker adds up."""

    result: int


class Total(msgspec.Struct):
    """The result of a workflow of these benchmarks."""

    steps: int
    sum: int


class ScheduleActivity(msgspec.Struct, tag_field="type", tag="ScheduleActivity", gc=False):
    """The command that asks for the next step."""

    seq: int
    input: int
    name: str = ACTIVITY
    task_queue: str = QUEUE


class CompleteWorkflow(msgspec.Struct, tag_field="type", tag="CompleteWorkflow", gc=False):
    """The command that ends the run."""

    result: Total


class Batch(msgspec.Struct, gc=False):
    """The answer to a workflow task."""

    worker_id: str
    lease: str
    commands: tuple[ScheduleActivity | CompleteWorkflow]


class Completion(msgspec.Struct, gc=False):
    """The report of a finished activity, with its fence."""

    worker_id: str
    attempt: int
    token: str
    result: int


class Ended(msgspec.Struct):
    """The part of a run record that tells how it ended."""

    status: str
    result: str | None = None


class Registered(msgspec.Struct):
    """The answer to a registration."""

    worker_id: str


encode = msgspec.json.Encoder().encode
read_workflow_task = msgspec.json.Decoder(WorkflowTask | None).decode
read_activity_task = msgspec.json.Decoder(ActivityTask).decode
read_outcome = msgspec.json.Decoder(Outcome).decode
read_total = msgspec.json.Decoder(Total | None).decode
read_registered = msgspec.json.Decoder(Registered).decode


def register(identity: str) -> bytes:
    body = {"identity": identity, "queue": QUEUE, "namespace": NAMESPACE}
    kinds = {"workflows": [WORKFLOW], "activities": [ACTIVITY]}
    return post(f"{PREFIX}/workers/register", encode({**body, **kinds}))


def heartbeat(worker_id: str) -> bytes:
    return post(f"{PREFIX}/workers/heartbeat", encode({"worker_id": worker_id}))


def start(workflow_id: str) -> bytes:
    body = {"workflow_type": WORKFLOW, "workflow_id": workflow_id, "task_queue": QUEUE}
    return post(f"{PREFIX}/workflows", encode(body))


def result(workflow_id: str) -> bytes:
    return get(f"{PREFIX}/workflows/{workflow_id}/result?wait_secs={HELD_SECS:g}")


def poll_workflow_task(worker_id: str) -> bytes:
    body = {"queue": QUEUE, "worker_id": worker_id, "wait_secs": HELD_SECS}
    return post(f"{PREFIX}/workflow-tasks/poll", encode(body))


def submit(
    task: WorkflowTask, worker_id: str, command: ScheduleActivity | CompleteWorkflow
) -> bytes:
    body = encode(Batch(worker_id, task.lease, (command,)))
    return post(f"{PREFIX}/workflow-tasks/{task.workflow_id}/commands", body)


def poll_activity(worker_id: str) -> bytes:
    body = {"queue": QUEUE, "worker_id": worker_id, "wait_secs": HELD_SECS}
    return post(f"{PREFIX}/tasks/poll", encode(body))


def complete(task: ActivityTask, worker_id: str, outcome: int) -> bytes:
    body = encode(Completion(worker_id, task.attempt, task.token, outcome))
    return post(f"{PREFIX}/tasks/{task.id}/complete", body)


def events(workflow_id: str) -> bytes:
    return get(f"{PREFIX}/workflows/{workflow_id}/events")


def describe(workflow_id: str) -> bytes:
    return get(f"{PREFIX}/workflows/{workflow_id}")
