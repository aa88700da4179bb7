"""Activities as records."""

from assay.errors import NotFound
from assay.server.answer import Answer, answer
from assay.server.call import Call
from assay.wire.records import activity_record
from assay.wire.requests import activity_no


async def describe(call: Call) -> Answer:
    """One activity."""
    no = activity_no(call.path[1])
    views = await call.reading.activity_views([no])
    if not views:
        raise NotFound(f"not found: activity {no} not found")
    [view] = views
    record = activity_record(view.activity, view.workflow_id, input=view.input, result=view.result)
    return answer(record)
