"""A replay says what it waits for."""

from assay.core.draft import Draft
from assay.core.waits import announce_wait
from assay.model.commands import WaitForSignal
from assay.model.run import Run


def wait_for_signal(draft: Draft, run: Run, command: WaitForSignal) -> Run:
    """Announced once, until the signal or the timer of this wait arrives."""
    return draft.put(announce_wait(draft, run, command.name, command.timer_seq))
