"""Runs that a worker keeps alive: what is new goes to it first, and nothing else goes with it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.exchange import Session, back, kinds, seqs, signal, submit
from tests.support.http import Http, Json
from tests.support.server import Server

KEPT_SECS = 1.0
LATE_SECS = 1.5  # what a busy machine may add to a promise of 100 ms
MIB = 2**20


async def seen(api: Api, run: str) -> list[Json]:
    """The whole history as entries of a task."""
    history = await api.history(run)
    return [[event.seq, event.type, event.payload, event.timestamp] for event in history]


async def kept(api: Api, sdk: Session, *, room: int = 1) -> Json:
    """A run that the session keeps alive, and its first task."""
    run = await api.start(input={"n": 1})
    task = await sdk.take_run(run)
    await sdk.do(submit(task, commands.wait("go"), keeps=True), runs=room)
    return task


@over_http
async def test_a_first_task_brings_the_whole_history(api: Api) -> None:
    sdk, run = Session(api), await api.start(input={"n": 1.50})
    await api.signal(run, "go", [1])
    task = await sdk.take_run(run)
    record = await api.describe(run)
    named = {name: task[name] for name in ("id", "namespace", "type", "queue")}
    assert named == {"id": run, "namespace": "main", "type": "Story", "queue": api.queue}
    assert record["status"] == "RUNNING"
    assert task["history"] == await seen(api, run)
    assert kinds(task["history"]) == ["WorkflowStarted", "SignalReceived"]
    assert not {"since", "more", "free"} & task.keys()


@over_http
async def test_the_next_one_brings_what_is_new(api: Api) -> None:
    sdk = Session(api)
    first = await kept(api, sdk)
    await api.signal(first["id"], "go", 1)
    second = await sdk.take_run(first["id"])
    assert second["since"] == first["lease"]
    assert second["lease"] != first["lease"]
    assert first["history"] + second["history"] == await seen(api, first["id"])
    assert kinds(second["history"]) == ["WorkflowAwaitingSignal", "SignalReceived"]


@over_http
async def test_what_is_not_kept_comes_whole(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.do(submit(await sdk.take_run(run), commands.wait("go")))
    await api.signal(run, "go")
    task = await sdk.take_run(run)
    assert "since" not in task
    assert task["history"] == await seen(api, run)


@over_http
async def test_news_between_claim_and_answer_come_next(api: Api) -> None:
    """They were recorded before the commands: what was seen ends where the claim was made."""
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    await api.signal(run, "go", 1)
    told = await sdk.do(submit(task, commands.wait("go"), keeps=True), runs=1)
    second = told.runs[0] if told.runs else await sdk.take_run(run)
    assert second["since"] == task["lease"]
    assert kinds(second["history"]) == ["SignalReceived", "WorkflowAwaitingSignal"]


@over_http
async def test_a_long_life_of_small_news(api: Api) -> None:
    """Whatever comes when: the parts make up the history, nothing twice and nothing missing."""
    sdk, run, dice = Session(api), await api.start(), Random(5)
    task = await sdk.take_run(run)
    parts = list(task["history"])
    for lap in range(40):
        for _ in range(dice.randrange(3)):
            await api.signal(run, "early", lap)
        work = [commands.side_effect(lap + 1, dice.random())]
        operations = [signal(run, "beside", lap)] if dice.random() < 0.3 else []
        told = await sdk.do(*operations, submit(task, *work, keeps=True), runs=1)
        for _ in range(dice.randrange(2)):
            await api.signal(run, "late", lap)
        before, task = task, (told.runs or [await sdk.take_run(run)])[0]
        assert task["since"] == before["lease"]
        assert task["history"][0][0] == parts[-1][0] + 1
        parts += task["history"]
    assert parts == (await seen(api, run))[: len(parts)]
    await sdk.do(submit(task, commands.complete(), keeps=True))
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_parts_fit_together_while_news_pour_in(api: Api) -> None:
    """What comes after a claim, and before its answer is written, belongs to the next task."""
    sdk, run = Session(api), await api.start()
    parts: list[Json] = []

    async def pour(word: str) -> None:
        for n in range(60):
            await api.signal(run, word, n)

    pouring = asyncio.gather(*(pour(word) for word in "abcd"))
    while not pouring.done() or len(parts) < 241:
        task = await sdk.take_run(run)
        assert seqs(task["history"])[0] == len(parts) + 1
        parts += task["history"]
        await sdk.do(submit(task, keeps=True))
    assert parts == await seen(api, run)


@over_http
async def test_a_keeper_gets_its_news_at_once_and_others_do_not(api: Api) -> None:
    sdk, rival = Session(api), Session(api)
    await sdk.begin()
    await rival.begin()
    first = await kept(api, sdk)
    rivals = asyncio.create_task(rival.say(runs=5, wait_secs=0.5))
    plain = asyncio.create_task(api.poll_run(worker="w-plain", wait=0.5))
    mine = asyncio.create_task(sdk.say(runs=1, wait_secs=5))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await api.signal(first["id"], "go")
    assert [task["id"] for task in (await mine).runs] == [first["id"]]
    assert time.monotonic() - began < KEPT_SECS / 2
    assert (await rivals).is_empty
    assert await plain is None


@over_http
async def test_after_a_second_anybody_may_have_it(api: Api) -> None:
    sdk, rival = Session(api), Session(api)
    await rival.begin()
    first = await kept(api, sdk, room=0)
    waiting = asyncio.create_task(rival.take_run(first["id"]))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await api.signal(first["id"], "go")
    task = await waiting
    assert KEPT_SECS - 0.1 < time.monotonic() - began < KEPT_SECS + LATE_SECS
    assert "since" not in task
    assert task["history"] == await seen(api, first["id"])
    told = await sdk.say(submit(first, commands.complete()))
    assert told.statuses == [409]
    await rival.do(submit(task, commands.complete()))


@over_http
async def test_a_plain_poll_may_have_it_too(api: Api) -> None:
    first = await kept(api, Session(api))
    waiting = asyncio.create_task(api.claim(first["id"], worker="w-plain"))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await api.signal(first["id"], "go")
    task = await waiting
    assert KEPT_SECS - 0.1 < time.monotonic() - began < KEPT_SECS + LATE_SECS
    assert len(task["history"]) == 3
    await api.submit(first["id"], commands.complete(), worker="w-plain", lease=task["lease"])


@over_http
async def test_a_keeper_without_room_gets_it_when_it_has_some(api: Api) -> None:
    sdk = Session(api)
    first = await kept(api, sdk, room=0)
    await api.signal(first["id"], "go")
    assert (await sdk.say(runs=0)).is_empty
    told = await sdk.say(runs=1, wait_secs=5)
    assert [task["since"] for task in told.runs] == [first["lease"]]


@over_http
async def test_two_workers_pass_a_run_to_and_fro(api: Api) -> None:
    """Each gets the whole history: what a worker has seen counts while it keeps the run."""
    one, two, run = Session(api), Session(api), await api.start()
    for lap, sdk in enumerate((one, two, one, two)):
        if lap:
            await api.signal(run, "go", lap)
        task = await sdk.take_run(run)  # after a second, while the other one stays away
        assert "since" not in task
        assert task["history"] == await seen(api, run)
        await sdk.do(submit(task, commands.wait("go"), keeps=True))
    await api.signal(run, "go", 9)
    task = await two.take_run(run)
    assert kinds(task["history"]) == ["WorkflowAwaitingSignal", "SignalReceived"]


@over_http
async def test_a_run_that_was_handed_back_is_kept_no_longer(api: Api) -> None:
    sdk = Session(api)
    first = await kept(api, sdk)
    await api.signal(first["id"], "go")
    await sdk.do(back(await sdk.take_run(first["id"])))
    task = await api.claim(first["id"], wait=KEPT_SECS / 2)
    assert len(task["history"]) == 3


@over_http
async def test_a_keeper_hears_of_a_cancel_request(api: Api) -> None:
    sdk = Session(api)
    first = await kept(api, sdk)
    await api.cancel(first["id"], "enough")
    task = await sdk.take_run(first["id"])
    assert kinds(task["history"]) == ["WorkflowAwaitingSignal", "WorkflowCancelRequested"]
    await sdk.do(submit(task, commands.cancelled()))
    assert await api.status(first["id"]) == "CANCELLED"


@over_http
async def test_what_an_operator_takes_back_is_not_in_the_next_task(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    once = commands.activity(1, task_queue=api.queue, max_attempts=1)
    await sdk.do(submit(await sdk.take_run(run), once, keeps=True))
    await api.fail((await api.take())["id"])
    await sdk.do(submit(await sdk.take_run(run), commands.fail(), keeps=True))
    await api.retry(run)
    await api.complete((await api.take())["id"], 1)
    task = await sdk.take_run(run)
    assert "since" not in task
    told = kinds(task["history"])
    assert told == ["WorkflowStarted", "ActivityRetryRequested", "ActivityCompleted"]


# -- claims that go on ---------------------------------------------------------------------------


@over_http
async def test_a_claim_that_is_held_on_takes_several_batches(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    for seq in (1, 2, 3):
        effect = commands.timer(seq, 900)
        await sdk.do(submit(task, effect, keeps=True, holds=True), runs=0)
        assert await api.poll_run() is None
    await sdk.do(submit(task, keeps=True))
    assert await api.kinds(run) == ["WorkflowStarted", *["TimerScheduled"] * 3]
    assert (await sdk.say(submit(task))).statuses == [409]


@over_http
async def test_who_holds_on_hears_news_under_the_same_lease(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    await sdk.do(submit(task, commands.wait("go"), keeps=True, holds=True), runs=0)
    waiting = asyncio.create_task(sdk.say(runs=0, wait_secs=10))
    plain = asyncio.create_task(api.poll_run(worker="w-plain", wait=2))
    await asyncio.sleep(0.1)
    await api.signal(run, "go", 1)
    [news] = (await waiting).runs
    assert (news["lease"], news["since"], news["free"]) == (task["lease"], task["lease"], True)
    assert task["history"] + news["history"] == await seen(api, run)
    assert sdk.seen["workflow"] == 1
    assert await plain is None, "the claim is still held, though a second has passed"
    await sdk.do(submit(news, commands.complete()))
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_a_step_that_is_recorded_comes_back_at_once(api: Api) -> None:
    """It is news like any other, under the lease that is held on, again and again."""
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    parts = list(task["history"])
    for seq in range(1, 30):
        step = submit(task, commands.step(seq, {"n": seq}), keeps=True, holds=True)
        told = await sdk.do(step, runs=0)
        [news] = told.runs or (await sdk.say(runs=0, wait_secs=5)).runs
        assert (news["lease"], news["free"]) == (task["lease"], True)
        parts += news["history"]
    assert seqs(parts) == list(range(1, 31))
    assert parts == await seen(api, run)


@over_http
async def test_news_are_told_once_until_more_is_held_on(api: Api) -> None:
    """Who has heard of something and has not answered yet is asked nothing more."""
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    await sdk.do(submit(task, keeps=True, holds=True), runs=0)
    await api.signal(run, "one")
    [news] = (await sdk.say(runs=0, wait_secs=5)).runs
    await api.signal(run, "two")
    assert (await sdk.say(runs=5, wait_secs=0.3)).is_empty
    told = await sdk.do(submit(news, keeps=True, holds=True), runs=0)
    [more] = told.runs or (await sdk.say(runs=0, wait_secs=5)).runs
    assert [entry[2]["signal"] for entry in news["history"]] == ["one"]
    assert [entry[2]["signal"] for entry in more["history"]] == ["two"]
    assert more["lease"] == task["lease"]


@over_http
async def test_who_answers_before_it_has_heard_the_news_is_asked_once_more(api: Api) -> None:
    """They crossed its batch: `seen` tells how far it had read when it wrote that."""
    sdk = Session(api)
    for seen_seq, comes in ((2, True), (3, False)):
        run = await api.start()
        task = await sdk.take_run(run)
        await sdk.do(submit(task, commands.wait("go"), keeps=True, holds=True), runs=0)
        await api.signal(run, "go")
        [news] = (await sdk.say(runs=0, wait_secs=5)).runs
        assert seqs(news["history"]) == [2, 3]
        told = await sdk.do(submit(task, keeps=True, seen=seen_seq), runs=1)
        again = told.runs or (await sdk.say(runs=1, wait_secs=0.3)).runs
        assert [(each["since"], each["history"]) for each in again] == [(task["lease"], [])] * comes


# -- several instances ---------------------------------------------------------------------------


def test_news_through_another_server_are_heard_at_once(postgres_url: str, tmp_path: Path) -> None:
    """By who has room for them, and by who holds the claim on and has none."""
    here, there = (Server(postgres_url, tmp_path / f"{name}.log") for name in "ab")

    async def story() -> None:
        async with Http(here.host, here.port) as near, Http(there.host, there.port) as far:
            api, other = Api(near), Api(far)
            sdk, holder = Session(api), Session(api)
            first = await kept(api, sdk)
            task = await holder.take_run(await api.start())
            await holder.do(submit(task, commands.wait("go"), keeps=True, holds=True), runs=0)
            for asked, room, held in ((sdk, 1, first), (holder, 0, task)):
                waiting = asyncio.create_task(asked.say(runs=room, wait_secs=10))
                await asyncio.sleep(0.2)
                began = time.monotonic()
                await other.signal(held["id"], "go")
                [news] = (await waiting).runs
                assert time.monotonic() - began < KEPT_SECS
                assert news["since"] == held["lease"]
                assert held["history"] + news["history"] == await seen(api, held["id"])

    with here.running(), there.running():
        asyncio.run(story())


def test_a_keeper_that_moves_to_another_server_keeps_what_it_has(
    postgres_url: str, tmp_path: Path
) -> None:
    here, there = (Server(postgres_url, tmp_path / f"{name}.log") for name in "ab")

    async def story() -> None:
        async with Http(here.host, here.port) as near, Http(there.host, there.port) as far:
            api, other = Api(near), Api(far)
            other.queue = api.queue
            sdk = Session(api)
            first = await kept(api, sdk)
            sdk.api = other
            await sdk.begin(runs=1)
            waiting = asyncio.create_task(sdk.say(runs=1, wait_secs=10))
            await asyncio.sleep(0.2)
            await api.signal(first["id"], "go")
            [news] = (await waiting).runs
            assert news["since"] == first["lease"]
            await sdk.do(submit(news, commands.complete()))
            assert await api.status(first["id"]) == "COMPLETED"

    with here.running(), there.running():
        asyncio.run(story())


# -- long histories ------------------------------------------------------------------------------


@over_http
async def test_a_history_too_long_for_an_answer_is_read_in_parts(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    for n in range(7):
        await api.signal(run, f"s{n}", "x" * MIB)
    task = await sdk.take_run(run)
    assert task["more"] is True
    assert seqs(task["history"]) == [1, 2, 3, 4]
    entries: list[Json] = []
    while True:
        after = entries[-1][0] if entries else 0
        [part] = (await sdk.say(histories=[[task["no"], after]])).histories
        assert part["no"] == task["no"]
        entries += part["entries"]
        if not part["more"]:
            break
    assert entries == await seen(api, run)
    [first, last] = (await sdk.say(histories=[[task["no"], 6], [task["no"], 8]])).histories
    assert (seqs(first["entries"]), first["more"]) == ([7, 8], False)
    assert (last["entries"], last["more"]) == ([], False)


@over_http
async def test_a_history_that_just_fits_is_whole(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    for n in range(3):
        await api.signal(run, f"s{n}", "x" * MIB)
    task = await sdk.take_run(run)
    assert "more" not in task
    assert task["history"] == await seen(api, run)


@over_http
async def test_many_small_events_and_a_run_that_is_not_there(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    effects = [commands.side_effect(seq, seq) for seq in range(1, 6001)]
    await sdk.do(submit(task, *effects[:3000], keeps=True, holds=True))
    await sdk.do(submit(task, *effects[3000:], keeps=True, holds=True))
    [whole, none] = (await sdk.say(histories=[[task["no"], 0], [2**53, 0]])).histories
    assert (seqs(whole["entries"]), whole["more"]) == (list(range(1, 6002)), False)
    assert none == {"no": 2**53, "entries": [], "more": False}
