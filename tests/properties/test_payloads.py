"""Payloads come back as they were sent, by every way they can take (contract §2.4).

ASSAY_EXAMPLES=200 makes more of it than the ordinary run.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.engine.passes import Passes
from assay.model.time import MICROS
from tests.properties.json_texts import JSON_TEXTS, PECULIAR
from tests.properties.payload_journey import (
    Journey,
    check_fired,
    expect,
    fields,
    scheduled,
    text_in,
)
from tests.support.caller import at
from tests.support.inside import House, inside

EXAMPLES = int(os.environ.get("ASSAY_EXAMPLES", "12"))
YEAR = 366 * 24 * 3600 * MICROS
LARGEST_BODY = 2 * 1024 * 1024


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def house(database: str, loop: asyncio.Runner) -> Iterator[House]:
    """A server that lives as long as the test."""
    stack = contextlib.AsyncExitStack()
    yield loop.run(stack.enter_async_context(inside(database)))
    loop.run(stack.aclose())


def test_peculiar_texts(house: House, loop: asyncio.Runner) -> None:
    loop.run(Journey(house.api, PECULIAR).travel())
    loop.run(Journey(house.api, ["null"]).travel())


def test_invented_texts(house: House, loop: asyncio.Runner) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(JSON_TEXTS, min_size=1, max_size=12))
    def story(texts: list[str]) -> None:
        loop.run(Journey(house.api, texts).travel())

    story()


def test_what_schedules_hand_on(house: House, loop: asyncio.Runner) -> None:
    async def story() -> None:
        made = await scheduled(house.api, [*PECULIAR, "null"])
        fired = await Passes(house.runner).schedules(house.runner.clock() + YEAR)
        assert fired == len(made)
        await check_fired(house.api, made)

    loop.run(story())


LARGE = {
    "one string": '"%s"' % ("x" * (LARGEST_BODY - 200)),
    "wide characters": '"%s"' % ("\U0001f600" * ((LARGEST_BODY - 200) // 4)),
    "escapes": '"%s"' % (r"\u0000" * ((LARGEST_BODY - 200) // 6)),
    "quotes": '"%s"' % (r"\"" * ((LARGEST_BODY - 200) // 2)),
    "numbers": "[1e400%s]" % (",1e400" * ((LARGEST_BODY - 210) // 6)),
    "small objects": "[{}%s]" % (',{"a":-0.0}' * ((LARGEST_BODY - 210) // 11)),
    "one long number": "1" * (LARGEST_BODY - 200),
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_the_largest_payloads(house: House, loop: asyncio.Runner, text: str) -> None:
    """Two of them in one history: answers may be larger than any request."""

    async def story() -> None:
        journey = Journey(house.api, [text])
        body = {"workflow_type": "S", "workflow_id": journey.run, "task_queue": house.api.queue}
        start = json.dumps(body)[:-1] + f',"input":{text}}}'
        assert LARGEST_BODY - 200 < len(start.encode()) <= LARGEST_BODY
        await journey.post("/workflows", start, 201)
        await journey.post(at(journey.run, "signal", "go"), f'{{"payload":{text}}}')
        expect(text_in(fields(await journey.get(at(journey.run)))["input"]), text)
        task = await journey.claim()
        expect(task["input"], text)
        [shown] = await journey.payloads(journey.run, "SignalReceived", "payload")
        expect(shown, text)
        end = f'{{"type":"CompleteWorkflow","result":{text}}}'
        await journey.submit(journey.run, [end], task["lease"])
        expect(text_in(fields(await journey.get(at(journey.run, "result")))["result"]), text)

    loop.run(story())
