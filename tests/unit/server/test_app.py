"""The application over a real engine: answers, held polls, and claims that nobody receives."""

import asyncio
import json

import pytest

from assay.core.decide import Rules
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.errors import EngineStopped, NonDeterminism, StoreLocked, UsageFault
from assay.model.operations import Start
from assay.server.app import App, create_app
from assay.server.asgi import Sent
from assay.server.problems import status_of
from assay.server.settings import Settings
from assay.store.sqlite.store import SqliteStore
from tests.unit.server.client import Client, told

POLL = "/api/v1/workflow-tasks/poll"


class Torn(Client):
    """A client whose connection breaks while the answer is written."""

    async def _send(self, message: Sent) -> None:
        raise OSError("broken pipe")


def poll(wait_secs: float) -> bytes:
    return b'{"queue":"default","worker_id":"w","wait_secs":%g}' % wait_secs


async def claimable(app: App) -> bool:
    """Whether the one run can be claimed, which it then is."""
    answer = await Client(app, POLL, poll(1)).ask()
    return bool(json.loads(answer.body))


def test_before_the_engine_runs_all_that_needs_it_is_refused() -> None:
    runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=1))
    app = create_app(runner, Settings())

    async def asked(path: str, body: bytes = b"") -> tuple[int, str | None]:
        answer = await Client(app, path, body).ask()
        return answer.status, json.loads(answer.body or b"{}").get("error")

    async def story() -> None:
        for prefix in ("/api/v1", "/api/v1/engine/workflow"):
            assert await asked(f"{prefix}/health") == (200, None)
            assert await asked(f"{prefix}/version") == (200, None)
            for path in ("ready", "workflows"):
                assert await asked(f"{prefix}/{path}") == (503, "the engine is starting")
            for path in ("nowhere", "workflows/%ff/nothing"):
                assert (await asked(f"{prefix}/{path}"))[0] in (400, 404)
            assert (await Client(app, f"{prefix}/docs", b"").ask()).status == 200
            refused = await asked(f"{prefix}/workflow-tasks/poll", poll(1))
            assert refused == (503, "the engine is starting")
        assert (await asked("/nowhere"))[0] == 404

    asyncio.run(story())


@told
async def test_a_held_poll_is_answered(app: App) -> None:
    held = asyncio.create_task(Client(app, POLL, poll(9)).ask())
    await asyncio.sleep(0.02)
    await app.door.runner.perform(Start("T", "wf"))
    answer = await held
    assert (answer.status, json.loads(answer.body)["workflow_id"]) == (200, "wf")
    assert not app.door.held


@told
async def test_who_hangs_up_while_waiting_gets_nothing(app: App) -> None:
    client = Client(app, POLL, poll(9))
    held = asyncio.create_task(client.ask())
    await asyncio.sleep(0.02)
    client.gone.set()
    assert (await held).status == 0
    await app.door.runner.perform(Start("T", "wf"))
    assert await claimable(app)


@told
async def test_who_hung_up_before_the_answer_loses_the_claim(app: App) -> None:
    await app.door.runner.perform(Start("T", "wf"))
    client = Client(app, POLL, poll(0))
    client.gone.set()
    assert (await client.ask()).status == 0
    assert await claimable(app)


@told
async def test_a_write_that_fails_loses_the_claim(app: App) -> None:
    await app.door.runner.perform(Start("T", "wf"))
    with pytest.raises(OSError, match="broken pipe"):
        await Torn(app, POLL, poll(0)).ask()
    assert await claimable(app)


@told
async def test_an_answer_that_cannot_be_built_loses_the_claim(app: App) -> None:
    runner = app.door.runner
    await runner.perform(Start("T", "wf"))
    reading, runner.store.reading = runner.store.reading, None  # type: ignore[assignment] # to break it
    answer = await Client(app, POLL, poll(0)).ask()
    runner.store.reading = reading
    assert (answer.status, set(json.loads(answer.body))) == (500, {"error"})
    assert await claimable(app)


@told
async def test_a_stop_answers_held_polls_empty(app: App) -> None:
    held = asyncio.create_task(Client(app, POLL, poll(9)).ask())
    await asyncio.sleep(0.02)
    assert (await Client(app, "/api/v1/ready").ask()).status == 200
    app.door.stop()
    answer = await held
    assert (answer.status, answer.body) == (200, b"null")
    late = await Client(app, POLL, poll(9)).ask()
    assert (late.status, late.body) == (200, b"null")
    assert (await Client(app, "/api/v1/ready").ask()).status == 503


@told
async def test_a_request_that_outlasts_the_stop_is_told_so(app: App) -> None:
    client = Client(app, "/api/v1/workflows", b"{")
    client._messages = []  # its body never comes
    half = asyncio.create_task(client.ask())
    await asyncio.sleep(0.02)
    app.door.stop()
    half.cancel()
    assert (await half).status == 500  # what it asked for may be done or not


def test_a_status_follows_from_the_nearest_class() -> None:
    assert status_of(NonDeterminism()) == 409
    assert status_of(StoreLocked()) == 500
    assert status_of(EngineStopped()) == 503
    assert status_of(UsageFault()) == 500
