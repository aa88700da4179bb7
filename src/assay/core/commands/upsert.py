"""A replay changes the run's search attributes."""

from msgspec.structs import replace

from assay.core.attributes import merged
from assay.core.claim import offer
from assay.core.draft import Draft
from assay.core.payload import payload, raw
from assay.core.recorded import append_record, is_known, is_latest_patch
from assay.model.commands import UpsertSearchAttributes
from assay.model.events import EventType
from assay.model.run import Run


def upsert(draft: Draft, run: Run, command: UpsertSearchAttributes, *, alone: bool) -> Run:
    """Merge attributes; numbered ones are recorded once per number, others merged only.

    `alone`: the batch holds nothing but snapshots and upserts. Then the run is replayed again for
    what is newly recorded, and an upsert without number is recorded too, once per distinct patch:
    a client that stops at this call must get past it (contract §8.10).
    """
    number = command.seq or 0
    known = ("upsert", number, 0)
    if command.seq is not None:
        if is_known(draft, run, run.top_upsert, number, known):
            return run
    elif not alone or is_latest_patch(draft, run, command.patch):
        return draft.put(_merged(run, command))
    text = payload(upsert_seq=command.seq, patch=raw(command.patch))
    run = append_record(draft, run, EventType.SEARCH_ATTRIBUTES_UPSERTED, text, known)
    run = replace(_merged(run, command), top_upsert=max(run.top_upsert, number))
    return draft.put(offer(run, draft.now) if alone else run)


def _merged(run: Run, command: UpsertSearchAttributes) -> Run:
    return replace(run, search_attributes=merged(run.search_attributes, command.patch))
