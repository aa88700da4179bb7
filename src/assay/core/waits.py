"""What a run waits for: pairs of signal and timer seq, kept on it until one arrives."""

import msgspec
from msgspec.structs import replace

from assay.core.draft import Draft
from assay.core.payload import payload
from assay.model.events import EventType
from assay.model.run import Run


class Wait(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The run awaits this signal, at most until that timer fires; announced at `seq`, `at`."""

    signal: str
    timer_seq: int | None
    seq: int
    at: int


_decoder = msgspec.json.Decoder(list[Wait])


def waits_of(run: Run) -> list[Wait]:
    """What the run waits for, oldest first."""
    return [] if run.waits is None else _decoder.decode(run.waits)


def announce_wait(draft: Draft, run: Run, signal: str, timer_seq: int | None) -> Run:
    """Record that the run awaits a signal, once until it or the timer arrives."""
    waits = waits_of(run)
    if any(wait.signal == signal and wait.timer_seq == timer_seq for wait in waits):
        return run
    if timer_seq is None:
        text = payload(signal=signal)
    else:
        text = payload(signal=signal, timer_seq=timer_seq)
    run = draft.append(run, EventType.WORKFLOW_AWAITING_SIGNAL, text)
    return _with(run, [*waits, Wait(signal, timer_seq, run.last_seq, draft.now)])


def signal_arrived(run: Run, signal: str) -> Run:
    """The signal is there: nobody awaits it any more."""
    if run.waits is None:
        return run
    return _with(run, [wait for wait in waits_of(run) if wait.signal != signal])


def timer_arrived(run: Run, timer_seq: int) -> Run:
    """The timer is over: whoever waited no longer than it has his answer."""
    if run.waits is None:
        return run
    return _with(run, [wait for wait in waits_of(run) if wait.timer_seq != timer_seq])


def _with(run: Run, waits: list[Wait]) -> Run:
    return replace(run, waits=msgspec.json.encode(waits).decode() if waits else None)
