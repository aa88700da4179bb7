"""The body of `commands`: read in one go; only what fails is looked at command by command.

Commands of unknown types are logged and skipped. What else does not fit refuses the whole batch
with a text that names the command's index. The run is to show such a refusal, but only one whose
sender is sound: who sends, and for which run, is judged first and without the engine. So is a batch
whose payloads no JSON may hold, as long as it can be read for its sender.
"""

import contextlib
import json
import logging

import msgspec
from msgspec import Raw, Struct

from assay.errors import BadShape, BadValue, Refusal
from assay.model.commands import Command
from assay.model.operations import RejectCommands, SubmitCommands
from assay.wire import values
from assay.wire.codec import check_grammar, check_payloads, check_utf8, not_json, refusal_of
from assay.wire.commands import CommandBody

log = logging.getLogger("assay.wire")

LONGEST_LOGGED = 100


class Sender(Struct, frozen=True):
    """Whose batch it is, and for which run: values that are fit for the engine."""

    id: str
    worker_id: str
    lease: str | None

    def submission(
        self, commands: tuple[Command, ...], places: tuple[int, ...] = ()
    ) -> SubmitCommands:
        """The batch."""
        return SubmitCommands(self.id, self.worker_id, commands, self.lease, places=places)

    def rejection(self, why: Refusal) -> RejectCommands:
        """What the run is to show instead."""
        return RejectCommands(self.id, self.worker_id, values.text(str(why)), self.lease)


class CommandBatch(Struct):
    """The outcome of a replay."""

    worker_id: str
    commands: list[CommandBody]
    lease: str | None = None

    def sender(self, id: str) -> Sender:
        """The sender, for the run in the path."""
        return _sound(id, self.worker_id, self.lease)

    def places(self) -> tuple[int, ...]:
        """Where the commands stood in what was sent, if some of that is skipped."""
        return ()

    def checked(self) -> tuple[Command, ...]:
        """The commands, once every value is found good."""
        commands: list[Command] = []
        places = self.places() or range(len(self.commands))
        for index, body in zip(places, self.commands, strict=True):
            try:
                commands.append(body.command())
            except Refusal as refusal:
                raise at_index(index, refusal) from None
        return tuple(commands)


class ThinnedBatch(CommandBatch, kw_only=True):
    """A batch some of whose commands are skipped; the others keep their places."""

    kept: list[int]

    def places(self) -> tuple[int, ...]:
        """As they were sent."""
        return tuple(self.kept)


class UnreadBatch(Struct):
    """A batch that does not fit, whose sender is known."""

    worker_id: str
    lease: str | None
    refusal: Refusal

    def sender(self, id: str) -> Sender:
        """The sender, for the run in the path; the shape comes before unsound values."""
        try:
            return _sound(id, self.worker_id, self.lease)
        except BadValue:
            raise self.refusal from None

    def places(self) -> tuple[int, ...]:
        """Of nothing."""
        return ()

    def checked(self) -> tuple[Command, ...]:
        """There are none."""
        raise self.refusal


class _Envelope(Struct):
    worker_id: str
    commands: list[Raw]
    lease: str | None = None


class _Named(Struct):
    worker_id: str
    lease: str | None = None


class _NamedAlone(Struct):
    worker_id: str


class _Typed(Struct):
    type: str


_decode_batch = msgspec.json.Decoder(CommandBatch).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_command = msgspec.json.Decoder(CommandBody).decode
_decode_type = msgspec.json.Decoder(_Typed).decode
_KNOWN = frozenset(str(kind.__struct_config__.tag) for kind in CommandBody.__args__)


class BatchBody:
    """How the body of `commands` is read."""

    kind = CommandBatch
    optional = False

    def read(self, data: bytes) -> CommandBatch | UnreadBatch:
        """The batch, or who sent one that does not fit; a refusal if not even that can be told."""
        check_utf8(data)
        try:
            check_payloads(data)
        except BadValue as refusal:
            return _unfit(data, refusal)
        try:
            return _decode_batch(data)
        except msgspec.ValidationError:
            check_grammar(data)
            return _read_one_by_one(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise not_json(error) from None


def at_index(index: int, refusal: Refusal) -> Refusal:
    """The same refusal, naming the command."""
    return type(refusal)(f"command {index}: {refusal}")


def _sound(id: str, worker_id: str, lease: str | None) -> Sender:
    return Sender(
        values.identifier("workflow id", id),
        values.name("worker_id", worker_id),
        None if lease is None else values.identifier("lease", lease),
    )


def _read_one_by_one(data: bytes) -> CommandBatch | UnreadBatch:
    try:
        envelope = _decode_envelope(data)
    except msgspec.ValidationError as error:
        named, refusal = _named(data), refusal_of(error, data, _decode_envelope)
        if named is None:
            raise refusal from None
        return UnreadBatch(named.worker_id, named.lease, refusal)
    commands: list[CommandBody] = []
    kept: list[int] = []
    refusals: list[Refusal] = []
    strange: list[str] = []
    for index, raw in enumerate(envelope.commands):
        try:
            commands.append(_decode_command(raw))
            kept.append(index)
        except msgspec.ValidationError as error:
            if (kind := _unknown_type(raw)) is not None:
                strange.append(kind)
                continue
            refusals.append(at_index(index, refusal_of(error, raw, _decode_command)))
            if isinstance(refusals[-1], BadShape):
                break  # nothing comes before a wrong shape
    if strange:
        kinds = ", ".join(sorted(set(strange)))[:LONGEST_LOGGED]
        log.warning("%d commands have an unknown type and are skipped: %r", len(strange), kinds)
    if refusals:
        worst = refusals[-1] if isinstance(refusals[-1], BadShape) else refusals[0]
        return UnreadBatch(envelope.worker_id, envelope.lease, worst)
    return ThinnedBatch(envelope.worker_id, commands, envelope.lease, kept=kept)


def _unfit(data: bytes, refusal: BadValue) -> UnreadBatch:
    """Something in it no JSON may hold. Python can read half a pair, which msgspec does not."""
    try:
        body = json.loads(data, parse_int=float, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise refusal from None
    match body:
        case {"worker_id": str(worker_id)}:
            lease, commands = body.get("lease"), body.get("commands")
            found = _first_unfit(commands) if isinstance(commands, list) else None
            lease = lease if isinstance(lease, str) else None
            return UnreadBatch(worker_id, lease, found or refusal)
        case _:
            raise refusal


def _first_unfit(commands: list[object]) -> Refusal | None:
    """What is wrong with the first command of those that it is in."""
    refusal = _refusal_of_any(commands)
    first, end = 0, len(commands)
    while refusal is not None and end - first > 1:
        middle = (first + end) // 2
        found = _refusal_of_any(commands[first:middle])
        if found is None:
            first = middle
        else:
            end = middle
    return refusal and at_index(first, _refusal_of_any(commands[first:end]) or refusal)


def _refusal_of_any(commands: list[object]) -> BadValue | None:
    try:
        check_payloads(json.dumps(commands).encode(), within=1)
    except BadValue as refusal:
        return refusal
    return None


def _no_number(text: str) -> None:
    raise ValueError(text)


def _named(data: bytes) -> _Named | None:
    """Who sent it; a lease of the wrong type counts as none."""
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.json.decode(data, type=_Named)
    with contextlib.suppress(msgspec.ValidationError):
        return _Named(msgspec.json.decode(data, type=_NamedAlone).worker_id)
    return None


def _unknown_type(raw: Raw) -> str | None:
    """The type of a command, if it is none that we know."""
    try:
        kind = _decode_type(raw).type
    except msgspec.ValidationError:
        return None
    return None if kind in _KNOWN else kind
