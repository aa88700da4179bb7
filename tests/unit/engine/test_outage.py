"""A database that is away: few words, and ever fewer attempts."""

import asyncio
import itertools
import logging
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import pytest

from assay.core.decide import Rules
from assay.core.view import Key
from assay.engine import runner as engine_runner
from assay.engine.clock import wall_clock
from assay.engine.outage import Outage
from assay.engine.runner import Runner
from assay.errors import StoreUnavailable
from assay.model.operations import Start
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.store.port import Deadline, Loaded, Look, Ready
from assay.store.sqlite.store import SqliteStore

log = logging.getLogger("assay.engine")


def test_the_beginning_and_the_end_are_said_and_nothing_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outage = Outage(log, "it is gone", "it is back")
    outage.is_over()
    for _ in range(2):
        for _ in range(100):
            outage.note(StoreUnavailable("no route"))
        outage.is_over()
        outage.is_over()
    once = [
        "it is gone; this is said once until it can be: no route",
        "it is back, after 100 failed attempts",
    ]
    assert caplog.messages == 2 * once


class Away(SqliteStore):
    """Fails whenever it is told to, and counts."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.away = False
        self.refused: list[float] = []

    async def load(self, keys: Sequence[Key], *, lock: bool = False) -> Loaded:
        self._check()
        return await super().load(keys, lock=lock)

    async def ready(
        self, looks: Sequence[Look], limit: int, in_order: AbstractSet[Look] = frozenset()
    ) -> list[list[Ready]]:
        self._check()
        return await super().ready(looks, limit, in_order)

    async def claims(self) -> list[Deadline]:
        self._check(counts=False)
        return await super().claims()

    def _check(self, *, counts: bool = True) -> None:
        if self.away:
            if counts:
                self.refused.append(asyncio.get_running_loop().time())
            raise StoreUnavailable("no route")


def test_a_held_poll_does_not_make_noise_all_the_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine_runner, "BREATH", MICROS // 200)
    monkeypatch.setattr(engine_runner, "BREATH_LONGEST", MICROS // 20)

    async def story() -> list[float]:
        store = Away()
        runner = Runner(store, wall_clock, Rules(lease=MICROS))
        await runner.start()
        store.away = True
        held = asyncio.create_task(runner.poll(TaskKind.WORKFLOW, "default", "w", 20))
        while len(store.refused) < 8:
            await asyncio.sleep(0.01)
        store.away = False
        await runner.perform(Start("order", "wf"))
        grant = await held
        assert grant is not None
        await runner.stop()
        return store.refused

    at = asyncio.run(story())
    pauses = [later - earlier for earlier, later in itertools.pairwise(at)]
    wanted = [0.005, 0.01, 0.02, 0.04, 0.05, 0.05]
    assert all(pause >= least for pause, least in zip(pauses, wanted, strict=False)), pauses
    said = [text for text in caplog.messages if "engine" not in text]
    assert len(said) == 4, said
    assert sorted(text.partition(";")[0].partition(",")[0] for text in said) == [
        "the database can be read again",
        "the database cannot be read",
        "what is due cannot be read",
        "what is due is read again",
    ]
