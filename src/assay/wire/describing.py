"""A run as describe shows it: its record, and why it is not moving while it is open."""

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from assay.model.run import Run
from assay.model.situation import Reason, ReasonKind
from assay.model.time import seconds
from assay.wire.fields import Time
from assay.wire.records import RunRecord, run_record


class WaitingFor(Struct, frozen=True, gc=False):
    """One reason why a run is not moving."""

    kind: ReasonKind
    name: str | None
    since: Time
    until: Time | None
    note: str


class DescribedRun(RunRecord, frozen=True, gc=False, kw_only=True):
    """A run, and while it is open what it waits for."""

    waiting_for: list[WaitingFor] | UnsetType = UNSET


def described_run(
    run: Run, input: str | None, result: str | None, reasons: Iterable[Reason] | None
) -> DescribedRun:
    """The record with the reasons, if it is one of an open run."""
    record = asdict(run_record(run, input, result))
    if reasons is None:
        return DescribedRun(**record)
    return DescribedRun(**record, waiting_for=[_waiting_for(reason) for reason in reasons])


def _waiting_for(reason: Reason) -> WaitingFor:
    until = None if reason.until is None else seconds(reason.until)
    return WaitingFor(reason.kind, reason.name, seconds(reason.since), until, reason.note)
