"""Lists of children (contract 5.6) and what the engine adds to a start (contract 5.1)."""

from __future__ import annotations

import json

from tests.support import commands
from tests.support.api import Api, over_http


@over_http
async def test_listing_children_oldest_first(api: Api) -> None:
    parent = await api.start()
    names = [api.fresh(word) for word in ("z", "a", "m")]
    for name in names:
        await api.signal(parent, "next")
        await api.advance(parent, commands.child(name, task_queue=api.fresh("nobody")))
    assert [run["id"] for run in await api.children(parent)] == names
    assert await api.children(names[0]) == []
    assert await api.children(api.fresh("none")) == []


@over_http
async def test_the_engine_version_is_a_search_attribute(api: Api) -> None:
    run = await api.describe(await api.start())
    version = (await api.get("/version"))["version"]
    assert json.loads(run["search_attributes"]) == {"assay_engine_version": version}


@over_http
async def test_children_are_shown_as_describe_shows_them(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue, input={"a": 1}))
    await api.advance(child, commands.complete("done"))
    [listed] = await api.children(parent)
    assert listed == await api.describe(child)
    assert (listed["parent_id"], listed["input"], listed["result"]) == (parent, '{"a":1}', '"done"')
    successor = await api.continue_as_new(child)
    assert successor["parent_id"] == parent
    assert [run["id"] for run in await api.children(parent)] == [child, successor["id"]]


@over_http
async def test_a_deleted_parent_is_nobodys(api: Api) -> None:
    space = await api.open_namespace()
    parent, child = await api.start(namespace=space), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    assert (await api.describe(child))["parent_id"] == parent
    await api.terminate(parent)
    await api.delete(parent)
    assert (await api.describe(child))["parent_id"] is None
    assert [run["parent_id"] for run in await api.listed(namespace=space)] == [None]
    assert await api.children(parent) == []
    await api.start(parent, namespace=space)  # the id is free, its children are not its own
    assert (await api.describe(child))["parent_id"] is None
    assert await api.children(parent) == []
    successor = await api.continue_as_new(child)
    assert successor["parent_id"] is None
    assert (await api.describe(successor["id"]))["parent_id"] is None
