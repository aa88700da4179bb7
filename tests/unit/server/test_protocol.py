"""The protocol on a real socket: what only bytes on a wire can show."""

import asyncio
import json

from assay.model.operations import Start
from tests.unit.server.served import JSON, Served, answer_of, post, told

POLL = b'{"queue":"default","worker_id":"w"%s}'


@told
async def test_what_is_not_http_is_refused_as_json(served: Served) -> None:
    status, body = await served.ask(b"\0\1\2\r\n\r\n")
    assert (status, set(json.loads(body))) == (400, {"error"})


@told
async def test_a_wish_for_http_2_keeps_its_body(served: Served) -> None:
    wish = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAE\r\n"
    body = b'{"workflow_type":"T","input":"\\r\\nupgrade: h2c"}'
    status, answer = await served.ask(post("/workflows", body, JSON + wish))
    assert status == 201
    [view] = await served.runner.store.reading.run_views([json.loads(answer)["workflow_id"]])
    assert view.input == '"\\r\\nupgrade: h2c"'


@told
async def test_who_is_refused_while_still_sending_is_told(served: Served) -> None:
    for more in (b"a" * (1 << 20), b"a" * 100_000):
        status, body = await served.ask(b"GET /" + more + b" HTTP/1.1\r\n\r\n")
        assert (status, set(json.loads(body))) == (400, {"error"})


@told
async def test_a_next_request_is_no_hang_up(served: Served) -> None:
    await served.runner.perform(Start("T", "wf"))
    reader, writer = await served.connect()
    writer.write(post("/workflow-tasks/poll", POLL % b"") * 2)
    first, second = await answer_of(reader), await answer_of(reader)
    assert json.loads(first[1])["workflow_id"] == "wf"
    assert second == (200, b"null")
    writer.close()
    await writer.wait_closed()


@told
async def test_who_hangs_up_loses_the_claim_with_requests_still_queued(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(post("/workflow-tasks/poll", POLL % b',"wait_secs":9') * 2)
    await asyncio.sleep(0.05)
    writer.transport.abort()
    await served.runner.perform(Start("T", "wf"))
    status, body = await served.ask(post("/workflow-tasks/poll", POLL % b',"wait_secs":5'))
    assert (status, json.loads(body)["workflow_id"]) == (200, "wf")
    assert reader.at_eof() or not await reader.read()
