"""A codec of the user's own: all values go through it, all that the engine is to read does not."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

import msgspec
import pytest

import assay
from assay.sdk.convert import JsonCodec, Payload
from tests.sdk.world import World, on_every_shape

SECRET = "the secret"


class Sealed:
    """Writes everything as a text that says nothing (a real one would encrypt it)."""

    def __init__(self) -> None:
        self.plain = JsonCodec()

    def encode(self, value: object) -> bytes:
        return msgspec.json.encode("sealed:" + base64.b64encode(self.plain.encode(value)).decode())

    def decode(self, text: Payload | None, kind: Any = Any) -> Any:
        if text is None or bytes(msgspec.Raw(text)) == b"null":
            return self.plain.decode(None, kind)
        opened = base64.b64decode(msgspec.json.decode(text, type=str).removeprefix("sealed:"))
        return self.plain.decode(opened, kind)


@dataclasses.dataclass
class Note:
    text: str


@assay.activity
async def copy(ctx: assay.ActivityContext, note: Note) -> Note:
    if ctx.attempt == 1:
        await ctx.heartbeat(Note(SECRET))
        raise ValueError("once")
    assert ctx.heartbeat_details == {"text": SECRET}
    return Note(note.text)


@assay.workflow
async def child(_ctx: assay.WorkflowContext, note: Note) -> Note:
    return note


@assay.workflow
async def everything(ctx: assay.WorkflowContext, note: Note) -> list[Note]:
    if note.text == "begin":
        await ctx.continue_as_new(Note(SECRET))
    ctx.register_query("note", lambda: note)
    ctx.upsert_search_attributes({"stage": "late"})
    copied = await ctx.execute_activity(copy, note, initial_interval_secs=0.0)
    begotten = await ctx.start_child_workflow(child, f"{ctx.workflow_id}/x", copied)
    noted = await ctx.side_effect("note", lambda: SECRET)
    stepped = await ctx.step(lambda: Note(noted), result=Note)
    heard = await ctx.wait_for_signal("note", kind=Note)
    return [begotten, stepped, heard]


@on_every_shape
async def test_all_values_go_through_the_codec(world: World) -> None:
    await world.deploy(everything, child, copy, codec=Sealed())
    attributes = {"stage": "early", "kind": "note"}
    run = await world.start(everything, Note("begin"), search_attributes=attributes)
    await run.signal("note", Note(SECRET))
    assert await world.result(run.id, list[Note]) == [Note(SECRET)] * 3
    runs = await world.client.workflows.list(search_attrs={"stage": "late", "kind": "note"})
    [last] = [each["id"] for each in runs]
    told = [await world.client.workflows.get_events(id) for id in (run.id, last, f"{last}/x")]
    told.append([await world.activity(last)])
    state = await world.client.workflows.get_state(last)
    assert state is not None
    assert list(state["state"]) == ["note"]
    text = json.dumps([told, state, await world.record(last)])
    assert "sealed:" in text
    assert SECRET not in text


@on_every_shape
async def test_who_lacks_the_codec_is_told_so(world: World) -> None:
    await world.deploy(child, codec=Sealed())
    id = (await world.start(child, Note(SECRET))).id
    assert await world.result(id, Note) == Note(SECRET)
    await world.deploy(child)
    with pytest.raises(assay.PayloadError, match="Note"):
        await world.result(id, Note)
    assert str(await world.result(id)).startswith("sealed:")
