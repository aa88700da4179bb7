"""What a run waits for: pairs of signal and timer seq, kept on it until one arrives."""

import msgspec
from msgspec.structs import replace

from assay.core.draft import Draft
from assay.core.payload import payload
from assay.errors import BadValue
from assay.model.events import EventType
from assay.model.run import Run

# Waits stand on the run's row, which every step writes; nobody needs thousands of them.
WAITS_LONGEST = 128 * 1024


class Wait(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The run awaits this signal, at most until that timer fires; announced at `seq`, `at`."""

    signal: str
    timer_seq: int | None
    seq: int
    at: int


_encode = msgspec.json.encode
_decoder = msgspec.json.Decoder(list[Wait])


def waits_of(run: Run) -> list[Wait]:
    """What the run waits for, oldest first."""
    return [] if run.waits is None else _decoder.decode(run.waits)


def announce_wait(draft: Draft, run: Run, signal: str, timer_seq: int | None) -> Run:
    """Record that the run awaits a signal, once until it or the timer arrives.

    Looked up and added as text: a batch of many waits would else read them all again for each.
    A quotation mark inside a name is escaped, so no name can look like the start of an entry.
    """
    start = f"[{_encode(signal).decode()},{'null' if timer_seq is None else timer_seq},"
    text = run.waits or "[]"
    if start in text:
        return run
    if len(text) > WAITS_LONGEST:
        raise BadValue(f"workflow {run.id} waits for more signals at once than can be kept")
    fields = {"signal": signal} if timer_seq is None else {"signal": signal, "timer_seq": timer_seq}
    run = draft.append(run, EventType.WORKFLOW_AWAITING_SIGNAL, payload(**fields))
    entry = f"{start}{run.last_seq},{draft.now}]"
    return replace(run, waits=f"[{entry}]" if run.waits is None else f"{text[:-1]},{entry}]")


def signal_arrived(run: Run, signal: str) -> Run:
    """The signal is there: nobody awaits it any more."""
    if run.waits is None or f"[{_encode(signal).decode()}," not in run.waits:
        return run
    return _with(run, [wait for wait in waits_of(run) if wait.signal != signal])


def timer_arrived(run: Run, timer_seq: int) -> Run:
    """The timer is over: whoever waited no longer than it has his answer."""
    if run.waits is None or f'",{timer_seq},' not in run.waits:
        return run
    return _with(run, [wait for wait in waits_of(run) if wait.timer_seq != timer_seq])


def _with(run: Run, waits: list[Wait]) -> Run:
    return replace(run, waits=_encode(waits).decode() if waits else None)
