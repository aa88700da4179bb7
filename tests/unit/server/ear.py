"""Routes without an engine: one that only listens, and bodies that fit or are hostile."""

from collections.abc import Awaitable, Callable, Iterator
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from msgspec.structs import FieldInfo, fields

from assay.engine.runner import Runner
from assay.errors import NotFound
from assay.server.app import create_app
from assay.server.settings import Settings
from tests.unit.server.client import Client

NUL, HALF = "a\0b", "a\ud800b"


class Ear:
    """In the place of the engine: hears everything, knows nothing."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.store = self.reading = self.presence = self
        self.catalogue = self.questions = self

    def seen(self, *given: object) -> None:
        self.heard.append(given)

    def clock(self) -> int:
        return 0

    async def namespace_of(self, worker_id: str) -> None:
        self.heard.append(worker_id)

    def __getattr__(self, _: str) -> Callable[..., Awaitable[Any]]:
        async def hear(*given: object, **more: object) -> None:
            self.heard += [*given, more]
            raise NotFound

        return hear


def plain_kinds(kind: Any) -> set[object]:
    """What a field may hold, without remarks on it."""
    if get_origin(kind) is Annotated:
        return plain_kinds(get_args(kind)[0])
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return set().union(*(plain_kinds(choice) for choice in get_args(kind)))
    return {kind}


def value(field: FieldInfo, text: str) -> object:
    """Something that fits; the text, wherever the field takes one."""
    kinds = plain_kinds(field.type)
    if str in kinds:
        return text
    if list[str] in kinds:
        return [text]
    return 1 if field.required and field.name != "commands" else [] if field.required else None


def bodies(kind: type) -> Iterator[dict[str, object]]:
    """A body that fits, then one for each of its texts with a character that does not."""
    good = {field.name: value(field, "x") for field in fields(kind)}
    yield good
    for field in fields(kind):
        for text in (NUL, HALF):
            if value(field, text) != value(field, "x"):
                yield {**good, field.name: value(field, text)}


async def ask(path: str, body: bytes, method: str | None = None) -> tuple[int, str]:
    """The status, and all that the engine heard."""
    ear = Ear()
    app = create_app(cast("Runner", ear), Settings())
    client = await Client(app, f"/api/v1{path}", body, method).ask()
    return client.status, ascii(ear.heard)
