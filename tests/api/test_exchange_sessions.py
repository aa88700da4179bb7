"""Sessions of an exchange: what is on its way to them, what was lost, and who is beside them."""

from __future__ import annotations

import asyncio
import functools
import random
from collections import Counter

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import until
from tests.support.exchange import Session, Told, beat, complete, submit
from tests.support.http import Connection, Http, Json, Lost
from tests.support.server import Server

STORY_SECS = 50.0


async def start_all(api: Api, count: int) -> list[str]:
    return [await api.start() for _ in range(count)]


async def registered(api: Api, **fields: Json) -> Session:
    """A session under the id of a worker that has introduced itself."""
    body = {"identity": "me", "queue": api.queue, **fields}
    answer = await api.send("POST", "/workers/register", body)
    return Session(api, answer.json()["worker_id"])


async def heard(connection: Connection) -> Json:
    """The answer, which its session makes nothing of."""
    answer = await connection.answer()
    assert answer.status == 200, answer
    return answer.json()


# -- room ----------------------------------------------------------------------------------------


@over_http
async def test_so_many_are_given_as_there_is_room_for(api: Api) -> None:
    sdk, runs = Session(api), await start_all(api, 7)
    assert [task["id"] for task in (await sdk.hold(runs=2)).runs] == runs[:2]
    assert (await sdk.say(runs=0, wait_secs=0.2)).is_empty
    assert [task["id"] for task in (await sdk.hold(runs=3)).runs] == runs[2:5]
    assert [task["id"] for task in (await sdk.hold(runs=99)).runs] == runs[5:]


@over_http
async def test_room_is_what_is_left_after_those_on_their_way(api: Api) -> None:
    """The same offer again, made before the tasks had arrived, is no new offer."""
    sdk = Session(api)
    await sdk.begin()
    await start_all(api, 6)
    sent = sdk.body(runs=2, wait_secs=1)
    assert len((await sdk.say(runs=2, wait_secs=5)).runs) == 2
    late = Told(**(await api.send("POST", "/exchange", sent)).json())
    assert late.runs == []
    assert len((await sdk.say(runs=2, wait_secs=5)).runs) == 2


@over_http
async def test_requests_at_once_do_not_add_up(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin()
    await start_all(api, 12)
    body = sdk.body(runs=3, wait_secs=1)
    answers = await asyncio.gather(*(api.send("POST", "/exchange", body) for _ in range(6)))
    told = [sdk.hear(answer.json()) for answer in answers]
    assert sum(len(each.runs) for each in told) == 3
    assert len((await sdk.hold(runs=3)).runs) == 3


@over_http
async def test_kinds_have_room_of_their_own(api: Api) -> None:
    sdk, runs = Session(api), await start_all(api, 3)
    task = await sdk.take_run(runs[0])
    work = [commands.activity(seq, task_queue=api.queue) for seq in range(1, 6)]
    await sdk.do(submit(task, *work))
    told = Counter[str]()
    async with asyncio.timeout(5):
        while told != Counter(runs=1, activities=4):
            some = await sdk.say(
                runs=1 - told["runs"], activities=4 - told["activities"], wait_secs=2
            )
            told += Counter(runs=len(some.runs), activities=len(some.activities))
    assert (await sdk.say(runs=0, activities=0, wait_secs=0.2)).is_empty


@over_http
async def test_more_seen_than_was_given_here_is_no_room(api: Api) -> None:
    """Behind a load balancer another instance may have given the rest."""
    sdk = Session(api)
    await sdk.begin(runs=0)
    await start_all(api, 9)
    sdk.seen["workflow"] = 50
    assert len((await sdk.hold(runs=2)).runs) == 2


@over_http
async def test_who_has_left_gets_nothing_meanwhile(api: Api) -> None:
    """Its offer is over with its last request: others need not wait for it."""
    sdk = Session(api)
    await sdk.begin(runs=5)
    await sdk.say(runs=5)
    run = await api.start()
    assert await api.claim(run, wait=1)


# -- answers that are lost -----------------------------------------------------------------------


@over_http
async def test_what_was_lost_is_sent_again(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin()
    runs = await start_all(api, 4)
    first = await sdk.hold(runs=2)
    work = [commands.activity(seq, task_queue=api.queue) for seq in (1, 2)]
    await sdk.do(submit(first.runs[0], *work))
    lost = [await heard(await sdk.send(runs=1, activities=2, wait_secs=5)) for _ in range(2)]
    tasks = [task for answer in lost for task in answer.get("runs", [])]
    attempts = [task for answer in lost for task in answer.get("activities", [])]
    assert (len(tasks), len(attempts)) == (1, 2)
    again = await sdk.say(runs=1, activities=2, held=[first.runs[1]["lease"]])
    assert again.runs == tasks
    assert again.activities == attempts
    assert [task["id"] for task in (await sdk.hold(runs=1)).runs] == runs[3:]
    assert {*(await sdk.do(*(complete(each) for each in again.activities))).statuses} == {200}


@over_http
async def test_what_is_listed_is_not_sent_again(api: Api) -> None:
    sdk, runs = Session(api), await start_all(api, 3)
    tasks = (await sdk.hold(runs=3)).runs
    await sdk.do(submit(tasks[0], commands.activity(1, task_queue=api.queue)))
    attempt = await sdk.take_activity()
    listed = [tasks[1]["lease"], tasks[2]["lease"], attempt["token"]]
    assert (await sdk.say(runs=0, activities=0, held=listed, wait_secs=0.2)).is_empty
    told = await sdk.say(runs=0, activities=0, held=listed[:1])
    assert [task["id"] for task in told.runs] == [runs[2]]
    assert [task["token"] for task in told.activities] == [attempt["token"]]


@over_http
async def test_what_is_on_its_way_is_not_sent_twice(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin()
    connection = await sdk.send(runs=2, wait_secs=5)
    await asyncio.sleep(0.1)
    connection.hang_up()
    await asyncio.sleep(0.1)
    runs = await start_all(api, 2)
    told = await sdk.say(runs=2, wait_secs=5)
    if len(told.runs) < 2:
        told.runs += (await sdk.say(runs=2 - len(told.runs), wait_secs=5)).runs
    assert [task["id"] for task in told.runs] == runs
    listed = [task["lease"] for task in told.runs]
    assert (await sdk.say(runs=2, held=listed, wait_secs=0.2)).is_empty


@over_http
async def test_a_report_in_the_same_request_comes_before_what_is_sent_again(api: Api) -> None:
    """Its answer was lost, not the work: that is not done twice."""
    sdk, run = Session(api), await api.start()
    await sdk.do(submit(await sdk.take_run(run), commands.activity(1, task_queue=api.queue)))
    attempt = await sdk.take_activity()
    told = await sdk.say(complete(attempt, 1), runs=1, activities=1, held=[])
    assert told.statuses == [200]
    assert told.activities == []


@over_http
async def test_news_of_a_claim_that_was_lost_come_whole(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    await sdk.do(submit(task, commands.wait("go"), keeps=True, holds=True), runs=0)
    await api.signal(run, "go")
    await heard(await sdk.send(runs=0, wait_secs=5))  # and forgotten
    [again] = (await sdk.say(runs=0, held=[])).runs
    assert again["lease"] == task["lease"]
    assert "since" not in again
    assert len(again["history"]) == 3


@over_http
async def test_of_others_nothing_is_sent(api: Api) -> None:
    holder, run = Session(api), await api.start()
    await holder.take_run(run)
    assert (await Session(api).say(runs=5, held=[])).is_empty


def test_an_engine_that_died_knows_what_it_had_handed_out(own_server: Server) -> None:
    async def story() -> None:
        host, port = own_server.host, own_server.port
        async with Http(host, port) as http, Http(host, port) as afresh:
            api = Api(http)
            sdk, runs = Session(api), await start_all(api, 2)
            kept = await sdk.take_run(runs[0])
            await sdk.do(submit(kept, commands.activity(1, task_queue=api.queue), keeps=True))
            attempt = await sdk.take_activity(runs=0)
            task = await sdk.take_run(runs[1])
            own_server.kill()
            own_server.start()
            api.http = afresh
            told = await sdk.say(runs=1, activities=1, held=[task["lease"]])
            assert told.fresh
            assert told.runs == []
            assert [each["token"] for each in told.activities] == [attempt["token"]]
            await sdk.do(complete(told.activities[0], 1), submit(task, commands.complete()))
            news = await sdk.take_run(runs[0])
            assert news["since"] == kept["lease"], "what is kept outlives the engine"
            assert await api.status(runs[1]) == "COMPLETED"

    asyncio.run(story())


# -- who hangs up --------------------------------------------------------------------------------


@pytest.mark.parametrize("comes_back", [True, False])
@over_http
async def test_a_run_is_not_lost_with_who_hung_up(api: Api, comes_back: bool) -> None:
    sdk = Session(api)
    await sdk.begin()
    connection = await sdk.send(runs=3, activities=3, wait_secs=20)
    await asyncio.sleep(0.1)
    connection.hang_up()
    await asyncio.sleep(0.1)
    run = await api.start()
    if comes_back:
        await sdk.take_run(run)
    else:
        await api.claim(run, wait=2)


@functools.partial(over_http, secs=STORY_SECS)
async def test_requests_that_end_at_random_moments_lose_nothing(api: Api) -> None:
    """Whatever is claimed for a session reaches it, though most of its answers are lost."""
    sdk, wanted = Session(api), [api.fresh() for _ in range(150)]

    async def appear() -> None:
        for run in wanted:
            await api.start(run)
            await asyncio.sleep(0.005)

    appearing = asyncio.create_task(appear())
    in_hand: dict[str, str] = {}
    missed, done = False, Counter[str]()
    while len(done) < len(wanted):
        listed = {"held": list(in_hand.values())} if missed else {}
        connection = await sdk.send(runs=8 - len(in_hand), wait_secs=2, **listed)
        answer = asyncio.create_task(connection.answer())
        await asyncio.wait([answer], timeout=random.uniform(0, 0.03))
        if not answer.done():
            connection.finish()
        try:
            told = sdk.hear((await answer).json())
        except Lost:
            missed = True
            continue
        finally:
            await connection.close()
        missed = False
        in_hand |= {task["id"]: task["lease"] for task in told.runs}
        assert len(in_hand) <= 8
        for id, lease in list(in_hand.items())[:4]:
            await sdk.do(submit({"id": id, "lease": lease}, commands.complete()), runs=0)
            del in_hand[id]
            done[id] += 1
    await appearing
    assert done == Counter(wanted)


# -- who else is there ---------------------------------------------------------------------------


@over_http
async def test_a_worker_takes_of_its_own_namespace_only(api: Api) -> None:
    space = await api.open_namespace()
    bound, other = await registered(api, namespace=space), await registered(api)
    there, here = await api.start(namespace=space), await api.start()
    assert [task["id"] for task in (await bound.hold(runs=5)).runs] == [there]
    assert (await bound.say(runs=5, wait_secs=0.2)).is_empty
    assert [task["id"] for task in (await other.hold(runs=5)).runs] == [here]
    late = await api.start(namespace=space)
    assert [task["id"] for task in (await Session(api).hold(runs=5)).runs] == [late]


@over_http
async def test_activities_follow_the_namespace_too(api: Api) -> None:
    space = await api.open_namespace()
    bound, other = await registered(api, namespace=space), await registered(api)
    run = await api.start(namespace=space)
    work = commands.activity(1, task_queue=api.queue)
    await bound.do(submit(await bound.take_run(run), work))
    assert (await other.say(activities=1)).is_empty
    assert (await other.say(activities=1, wait_secs=0.2)).is_empty
    await bound.take_activity()


@over_http
async def test_a_session_is_a_sign_of_life(api: Api) -> None:
    sdk = await registered(api)
    before = await heartbeat_of(api, sdk.id)
    await asyncio.sleep(0.01)
    await sdk.say(runs=1)
    assert await heartbeat_of(api, sdk.id) > before


async def heartbeat_of(api: Api, worker: str) -> float:
    [record] = [each for each in await api.get("/workers") if each["id"] == worker]
    return float(record["last_heartbeat"])


@over_http
async def test_leases_and_attempts_count_as_its_tasks(api: Api) -> None:
    sdk = await registered(api)
    await start_all(api, 2)
    tasks = (await sdk.hold(runs=2)).runs
    await sdk.do(submit(tasks[0], commands.activity(1, task_queue=api.queue)))
    attempt = await sdk.take_activity()
    [record] = [each for each in await api.get("/workers") if each["id"] == sdk.id]
    assert record["active_tasks"] == 2
    await sdk.do(beat(attempt), submit(tasks[1], commands.complete()))


@over_http
async def test_neither_polls_nor_sessions_starve(api: Api) -> None:
    """Both wait all the time; of what comes up one by one each gets its share."""
    shares: Counter[str] = Counter()
    wanted = 60

    async def poll(name: str) -> None:
        while shares.total() < wanted:
            task = await api.poll_run(worker=name, wait=0.5)
            if task is not None:
                shares[name] += 1
                await api.submit(task["workflow_id"], commands.complete(), worker=name)

    async def exchange(name: str) -> None:
        sdk = Session(api, name)
        while shares.total() < wanted:
            told = await sdk.say(runs=4, wait_secs=0.5)
            shares[name] += len(told.runs)
            if told.runs:
                await sdk.do(*(submit(task, commands.complete()) for task in told.runs), runs=4)

    async def appear() -> None:
        for _ in range(wanted):
            await api.start()
            await asyncio.sleep(0.01)

    names = [api.fresh("poll"), api.fresh("poll"), api.fresh("w"), api.fresh("w")]
    await asyncio.gather(*map(poll, names[:2]), *map(exchange, names[2:]), appear())
    assert all(shares[name] >= wanted / 20 for name in names), shares


@over_http
async def test_a_backlog_is_shared_too(api: Api) -> None:
    """Who takes many at once does not take all, if others were there before."""
    greedy, modest = Session(api), Session(api)
    await greedy.begin()
    polls = [asyncio.create_task(api.claim(worker=f"w-{n}")) for n in range(3)]
    held = asyncio.create_task(greedy.say(runs=500, wait_secs=5))
    await asyncio.sleep(0.1)
    work = api.fresh("work")
    await asyncio.gather(*(api.start(f"{work}-{n}") for n in range(40)))
    given = {(await poll)["workflow_id"] for poll in polls}
    assert len(given) == 3
    assert (await held).runs
    await modest.begin()


@over_http
async def test_a_run_that_ends_while_its_task_is_on_its_way(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin()
    run = await api.start()
    told = await sdk.hold(runs=1)
    await api.terminate(run)
    answer = await sdk.say(submit(told.runs[0], commands.complete()))
    assert answer.statuses == [409]
    looked = await until(lambda: api.status(run))
    assert looked == "FAILED"
