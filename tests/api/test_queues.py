"""Queue statistics (contract 5.15): every queue that an activity or a living worker names."""

from __future__ import annotations

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json

ODD = ("z", "A", "a", "ä", "𝄞", "\ufffd", "a b", "/", "#")


async def queues(api: Api, space: str) -> dict[str, tuple[int, int, int]]:
    found: list[Json] = await api.get(f"/queues?namespace={space}")
    names = [queue["queue"] for queue in found]
    assert names == sorted(names), "by name, by code point"
    return {
        queue["queue"]: (
            queue["pending_activities"],
            queue["running_activities"],
            queue["workers"],
        )
        for queue in found
    }


async def register(api: Api, space: str, queue: str) -> None:
    body = {"identity": "me", "queue": queue, "namespace": space}
    await api.send("POST", "/workers/register", body)


@over_http
async def test_activities_count_from_their_schedule_to_their_end(api: Api) -> None:
    space = await api.open_namespace()
    assert await queues(api, space) == {}
    run = await api.start(namespace=space)
    assert await queues(api, space) == {}, "workflow tasks do not count"
    work = [commands.activity(seq, task_queue="one") for seq in (1, 2)]
    other = commands.activity(3, task_queue="other", max_attempts=1)
    await api.advance(run, *work, other)
    assert await queues(api, space) == {"one": (2, 0, 0), "other": (1, 0, 0)}
    # Another test's work may wait on a queue of that name: a worker of this space gets its own.
    body = {"identity": "me", "queue": "third", "namespace": space}
    worker = (await api.send("POST", "/workers/register", body)).json()["worker_id"]
    first = await api.poll_activity(queue="one", worker=worker)
    failing = await api.poll_activity(queue="other", worker=worker)
    assert await queues(api, space) == {"one": (1, 1, 0), "other": (0, 1, 0), "third": (0, 0, 1)}
    await api.fail(first["id"])
    await api.fail(failing["id"])
    expected = {"one": (2, 0, 0), "other": (0, 0, 0), "third": (0, 0, 1)}
    assert await queues(api, space) == expected, "a retry waits again, what has ended is named"
    await api.terminate(run)
    assert await queues(api, space) == {**expected, "one": (0, 0, 0)}
    await api.delete(run)
    assert await queues(api, space) == {"third": (0, 0, 1)}


@over_http
async def test_workers_count_by_queue(api: Api) -> None:
    space = await api.open_namespace()
    for queue in ("one", "two", "two"):
        await register(api, space, queue)
    run = await api.start(namespace=space)
    await api.advance(run, commands.activity(1, task_queue="two"))
    assert await queues(api, space) == {"one": (0, 0, 1), "two": (1, 0, 2)}


@over_http
async def test_tenants_are_apart(api: Api) -> None:
    space, other = await api.open_namespace(), await api.open_namespace()
    for each in (space, other):
        run = await api.start(namespace=each)
        await api.advance(run, commands.activity(1, task_queue="shared"))
    await register(api, other, "shared")
    assert await queues(api, space) == {"shared": (1, 0, 0)}
    assert await queues(api, other) == {"shared": (1, 0, 1)}
    assert await queues(api, api.fresh("none")) == {}
    main = await api.start()
    await api.advance(main, commands.activity(1, task_queue=api.queue))
    assert (await queues(api, "main"))[api.queue] == (1, 0, 0)


@over_http
async def test_names_sort_by_code_point(api: Api) -> None:
    space = await api.open_namespace()
    run = await api.start(namespace=space)
    work = [commands.activity(seq, task_queue=name) for seq, name in enumerate(ODD[::2], 1)]
    await api.advance(run, *work)
    for name in ODD[1::2]:
        await register(api, space, name)
    assert set(await queues(api, space)) == set(ODD)
