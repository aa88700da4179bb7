"""A durable timer is set, and later fires or is cancelled.

A run may also be woken without history telling of it: the next attempt at an inline step. Such a
waking is a timer too, under the negated seq of the step, which no timer of a handler can have.
"""

from msgspec.structs import replace

from assay.core.claim import offer
from assay.core.draft import Draft
from assay.core.payload import payload
from assay.core.waits import timer_arrived
from assay.model.commands import CancelTimer, ScheduleTimer
from assay.model.events import EventType
from assay.model.run import Run
from assay.model.states import TimerState
from assay.model.time import micros, seconds
from assay.model.timer import Timer


def schedule_timer(draft: Draft, run: Run, command: ScheduleTimer) -> Run:
    """A seq names one timer for ever; a repeat changes nothing."""
    if command.seq <= run.top_timer and draft.timers.at(run.no, command.seq) is not None:
        return run
    no = draft.take_number()
    duration_secs = max(0.0, command.duration_secs)
    fire_at = draft.now + micros(duration_secs)
    text = payload(
        timer_id=no,
        timer_seq=command.seq,
        fire_at=seconds(fire_at),
        duration_secs=duration_secs,
    )
    run = draft.append(run, EventType.TIMER_SCHEDULED, text)
    draft.timers.add(Timer(no, run.no, command.seq, fire_at, run.last_seq))
    return draft.put(replace(run, top_timer=max(run.top_timer, command.seq)))


def cancel_timer(draft: Draft, run: Run, command: CancelTimer) -> Run:
    """It never fires; one that is over already, or never was, changes nothing."""
    timer = draft.timers.at(run.no, command.seq) if command.seq <= run.top_timer else None
    if timer is None or not timer.is_live:
        return run
    run = draft.append(run, EventType.TIMER_CANCELLED, payload(timer_seq=command.seq))
    draft.timers.put(
        replace(
            timer,
            state=TimerState.SILENCED,
            silenced_at=draft.now,
            silenced_seq=run.last_seq,
        )
    )
    return draft.put(run)


def wake_later(draft: Draft, run: Run, step_seq: int, delay: int, *, anew: bool) -> None:
    """The run is offered again after a while, news or not; `anew`: perhaps it was to be before."""
    fire_at = draft.now + delay
    before = draft.timers.at(run.no, -step_seq) if anew else None
    if before is None:
        timer = Timer(draft.take_number(), run.no, -step_seq, fire_at, run.last_seq)
        draft.timers.add(timer)
        return
    draft.timers.put(
        replace(
            before,
            fire_at=fire_at,
            scheduled_seq=run.last_seq,
            state=TimerState.OPEN,
            silenced_at=None,
            silenced_seq=None,
        )
    )


def fire_timer(draft: Draft, timer: Timer) -> None:
    """Its moment has come: history says so, once, and the run has news."""
    run = draft.run(timer.run_no)
    if run is None or not run.is_open:
        return
    draft.timers.put(replace(timer, state=TimerState.FIRED))
    if timer.seq < 0:
        draft.put(offer(run, draft.now))
        return
    text = payload(timer_seq=timer.seq, fire_at=seconds(timer.fire_at))
    run = draft.append(timer_arrived(run, timer.seq), EventType.TIMER_FIRED, text)
    draft.put(offer(run, draft.now))
