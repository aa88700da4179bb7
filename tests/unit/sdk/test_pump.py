"""How patient a pump is, and what it puts into one request; its engine is played here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from assay.sdk.exchange.pump import LARGEST, Pump
from assay.sdk.faults import AnswerLost, ClientFault, EngineUnreachable, ServerFault
from assay.sdk.transport import Reply
from assay.wire.exchange.answer import ExchangeAnswer
from assay.wire.exchange.operations import SignalRun, StartRun
from tests.support.http import Json

SECS = 10.0
PATIENCE_SECS = 0.3
START = StartRun(workflow_type="order")
SIGNAL = SignalRun(id="wf", name="go", request_id="1")
Play = Callable[[Json, int], Awaitable[Reply]]


def answer(**said: Any) -> Reply:
    """What an engine says."""
    whole = {"v": 1, "instance": 1, "at": 1.0, "lease_secs": 30.0, **said}
    return Reply(200, msgspec.json.encode(whole))


def outcomes(body: Json, status: int) -> Reply:
    """The same of every operation."""
    return answer(outcomes=[{"status": status, "error": "no"} for _ in body.get("operations", ())])


class Engine:
    """A transport whose answers are played."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.bodies: list[Json] = []
        self.sizes: list[int] = []

    async def request(
        self, method: str, path: str, body: bytes | None = None, *, secs: float = 0.0
    ) -> Reply:
        self.bodies.append(msgspec.json.decode(body or b""))
        self.sizes.append(len(body or b""))
        return await self.play(self.bodies[-1], len(self.bodies))

    def from_thread(self) -> None:
        return None

    async def close(self) -> None:
        """Nothing was opened."""


class Partner:
    """A client that notes what comes."""

    takes_tasks = False

    def __init__(self) -> None:
        self.pump: Pump
        self.ended: list[str] = []
        self.despaired = asyncio.Event()
        self.heard = asyncio.Event()

    def takings(self) -> tuple[()]:
        return ()

    def held(self) -> list[str]:
        return []

    def receive(self, answer: ExchangeAnswer) -> None:
        self.ended += [ending.id for ending in answer.endings]
        if answer.endings:
            self.heard.set()

    def despair(self, fault: Exception) -> None:
        self.pump.waiting_for.clear()
        self.despaired.set()


def on_stage(play: Play, story: Callable[[Pump, Partner, Engine], Awaitable[None]]) -> None:
    async def tell() -> None:
        engine, partner = Engine(play), Partner()
        partner.pump = pump = Pump(engine, "me", partner, patience_secs=PATIENCE_SECS)
        async with asyncio.timeout(SECS):
            await story(pump, partner, engine)
        await pump.close(ClientFault("over"))

    asyncio.run(tell())


def ended(id: str) -> Json:
    return {"id": id, "last_id": id, "status": "COMPLETED", "result": None, "error": None}


def test_patience_begins_with_the_first_failure_and_not_with_a_request_that_is_held() -> None:
    async def play(_: Json, number: int) -> Reply:
        if number == 1:
            await asyncio.sleep(2 * PATIENCE_SECS)
            raise AnswerLost
        return answer(endings=[ended("wf")])

    async def story(pump: Pump, partner: Partner, engine: Engine) -> None:
        pump.await_end("wf")
        await partner.heard.wait()
        assert partner.ended == ["wf"]
        assert not partner.despaired.is_set()
        assert engine.bodies[1]["awaited"] == ["wf"]

    on_stage(play, story)


def test_who_is_given_up_is_not_asked_for_any_more() -> None:
    async def play(_: Json, __: int) -> Reply:
        raise EngineUnreachable

    async def story(pump: Pump, partner: Partner, engine: Engine) -> None:
        pump.await_end("wf")
        await partner.despaired.wait()
        asked = len(engine.bodies)
        await asyncio.sleep(3 * PATIENCE_SECS)
        assert len(engine.bodies) == asked
        assert not pump.is_busy

    on_stage(play, story)


def test_an_engine_that_cannot_do_it_is_asked_again_and_not_for_ever() -> None:
    async def play(body: Json, _: int) -> Reply:
        return outcomes(body, 500)

    async def story(pump: Pump, _: Partner, engine: Engine) -> None:
        assert (await pump.say(SIGNAL)).status == 500
        assert len(engine.bodies) > 1

    on_stage(play, story)


def test_a_start_that_may_have_been_made_is_not_made_again() -> None:
    async def play(body: Json, _: int) -> Reply:
        return outcomes(body, 500)

    async def story(pump: Pump, _: Partner, engine: Engine) -> None:
        assert (await pump.say(START)).status == 500
        assert len(engine.bodies) == 1

    on_stage(play, story)


@pytest.mark.parametrize("whole", [False, True])
def test_an_engine_that_is_not_there_yet_is_waited_for(whole: bool) -> None:
    async def play(body: Json, number: int) -> Reply:
        if number < 3:
            return Reply(503, b'{"error": "starting"}') if whole else outcomes(body, 503)
        return outcomes(body, 201)

    async def story(pump: Pump, _: Partner, __: Engine) -> None:
        assert (await pump.say(START)).status == 201

    on_stage(play, story)


def test_what_waits_for_its_next_try_ends_with_the_pump() -> None:
    async def play(body: Json, _: int) -> Reply:
        return outcomes(body, 503)

    async def story(pump: Pump, _: Partner, __: Engine) -> None:
        said = pump.say(START)
        while not pump._later:
            await asyncio.sleep(0.001)
        assert pump.is_busy
        await pump.close(ClientFault("closed"))
        with pytest.raises(ClientFault, match="closed"):
            await said

    on_stage(play, story)


def test_what_waits_for_its_next_try_is_said_before_it_leaves() -> None:
    async def play(body: Json, number: int) -> Reply:
        return outcomes(body, 500 if number == 1 else 200)

    async def story(pump: Pump, _: Partner, engine: Engine) -> None:
        said = pump.say(SIGNAL)
        while not pump._later:
            await asyncio.sleep(0.001)
        await pump.leave()
        assert (await said).status == 200

    on_stage(play, story)


def test_after_an_outage_that_was_given_up_there_is_patience_again() -> None:
    async def play(_: Json, number: int) -> Reply:
        if number < 1_000_000:
            raise EngineUnreachable
        return answer()

    async def story(pump: Pump, partner: Partner, _: Engine) -> None:
        for _round in range(2):
            began = asyncio.get_running_loop().time()
            partner.despaired.clear()
            pump.await_end("wf")
            await partner.despaired.wait()
            assert asyncio.get_running_loop().time() - began > PATIENCE_SECS / 2

    on_stage(play, story)


def test_an_engine_that_never_comes_is_not_waited_for_for_ever() -> None:
    async def play(_: Json, __: int) -> Reply:
        return Reply(503, b'{"error": "starting"}')

    async def story(pump: Pump, _: Partner, __: Engine) -> None:
        with pytest.raises(ServerFault):
            await pump.say(START)

    on_stage(play, story)


def test_the_ids_of_a_crowd_go_out_in_several_requests() -> None:
    async def play(body: Json, number: int) -> Reply:
        if number == 1:
            raise AnswerLost  # after which all are said anew
        if body.get("wait_secs", 0.0) > 1.0:
            await asyncio.sleep(SECS)  # it is held, and the others do not wait for it
        return answer()

    ids = [f"{number:04}" + "x" * 900 for number in range(3_000)]
    ids.append("y" * 300_000)  # more than one request has room for beside others

    async def story(pump: Pump, _: Partner, engine: Engine) -> None:
        for id in ids:
            pump.await_end(id)
        told: set[str] = set()
        while told != set(ids):
            await asyncio.sleep(0.01)
            told = {id for body in engine.bodies[1:] for id in body.get("awaited", ())}
        assert max(engine.sizes) < LARGEST

    on_stage(play, story)


def test_what_its_caller_has_given_up_is_not_said() -> None:
    async def play(body: Json, _: int) -> Reply:
        return outcomes(body, 201)

    async def story(pump: Pump, _: Partner, engine: Engine) -> None:
        gone = pump.say(StartRun(workflow_type="gone"))
        gone.cancel()
        await pump.say(START)
        said = [each["workflow_type"] for body in engine.bodies for each in body["operations"]]
        assert said == ["order"]

    on_stage(play, story)
