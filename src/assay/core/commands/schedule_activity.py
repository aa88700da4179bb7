"""Work is put on a queue."""

from msgspec.structs import replace

from assay.core.draft import Draft
from assay.core.payload import payload
from assay.errors import NonDeterminism
from assay.model.activity import Activity
from assay.model.commands import ScheduleActivity
from assay.model.events import EventType
from assay.model.note import Kind
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus


def schedule_activity(
    draft: Draft, run: Run, command: ScheduleActivity, *, added: bool = False
) -> Run:
    """A seq names one activity for ever: its name again is a repeat, another one a mismatch.

    `added`: from outside of the run's code, which replays of it are to know.
    """
    if command.seq <= run.top_activity:
        known = draft.activities.at(run.no, command.seq)
        if known is not None:
            if known.name != command.name:
                raise NonDeterminism(
                    f"non-deterministic replay: activity {command.seq} of workflow {run.id} "
                    f"is {known.name}, not {command.name}"
                )
            return run
    now, no = draft.now, draft.take_number()
    text = payload(
        activity_id=no,
        activity_seq=command.seq,
        name=command.name,
        task_queue=command.queue,
        input=command.input,
        **({"added": True} if added else {}),
    )
    run = draft.append(run, EventType.ACTIVITY_SCHEDULED, text)
    draft.activities.add(
        Activity(
            no=no,
            run_no=run.no,
            seq=command.seq,
            name=command.name,
            status=ActivityStatus.PENDING,
            policy=command.policy,
            scheduled_seq=run.last_seq,
            wanted_seq=run.last_seq,
            scheduled_at=now,
            queue=command.queue,
            namespace=run.namespace,
            priority=run.priority,
            ready_at=now,
        )
    )
    draft.inputs[no] = command.input
    begins = run.status is RunStatus.PENDING
    if begins:
        draft.note(Kind.WORKFLOW_RUNNING, run)
    return draft.put(
        replace(
            run,
            top_activity=max(run.top_activity, command.seq),
            status=RunStatus.RUNNING if begins else run.status,
            updated_at=now if begins else run.updated_at,
        )
    )
