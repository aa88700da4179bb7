"""The body of `commands`: read in one go; only what fails is looked at command by command.

A command of an unknown type is logged and skipped. What else does not fit refuses the whole batch
with a text that names the command's index; `UnreadBatch` carries that refusal as far as the
handler, because the run is to show it.
"""

import contextlib
import logging

import msgspec
from msgspec import Raw, Struct

from assay.errors import BadShape, Refusal
from assay.model.commands import Command
from assay.model.operations import RejectCommands, SubmitCommands
from assay.wire import values
from assay.wire.codec import check_text, not_json, refusal_of
from assay.wire.commands import CommandBody

log = logging.getLogger("assay.wire")


class CommandBatch(Struct):
    """The outcome of a replay."""

    worker_id: str
    commands: list[CommandBody]
    lease: str | None = None

    def operation(self, id: str) -> SubmitCommands:
        """The batch for the run in the path, once every value is found good."""
        workflow_id = values.identifier("workflow id", id)
        worker_id = values.name("worker_id", self.worker_id)
        lease = self.lease
        if lease is not None:
            values.identifier("lease", lease)
        commands: list[Command] = []
        for index, body in enumerate(self.commands):
            try:
                commands.append(body.command())
            except Refusal as refusal:
                raise at_index(index, refusal) from None
        return SubmitCommands(workflow_id, worker_id, tuple(commands), lease)

    def rejection(self, id: str, why: Refusal) -> RejectCommands:
        """The same, when some value was not admissible."""
        return RejectCommands(id, self.worker_id, values.text(str(why)), self.lease)


class UnreadBatch(Struct):
    """A batch of the wrong shape whose sender is known."""

    worker_id: str
    lease: str | None
    refusal: Refusal

    def operation(self, id: str) -> SubmitCommands:
        """There is none."""
        values.identifier("workflow id", id)
        raise self.refusal

    def rejection(self, id: str, why: Refusal) -> RejectCommands:
        """What the run is to show."""
        return RejectCommands(id, self.worker_id, values.text(str(why)), self.lease)


class _Envelope(Struct):
    worker_id: str
    commands: list[Raw]
    lease: str | None = None


class _Sender(Struct):
    worker_id: str
    lease: str | None = None


class _SenderAlone(Struct):
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
        check_text(data)
        try:
            return _decode_batch(data)
        except msgspec.ValidationError:
            return _read_one_by_one(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise not_json(error) from None


def at_index(index: int, refusal: Refusal) -> Refusal:
    """The same refusal, naming the command."""
    return type(refusal)(f"command {index}: {refusal}")


def _read_one_by_one(data: bytes) -> CommandBatch | UnreadBatch:
    try:
        envelope = _decode_envelope(data)
    except msgspec.ValidationError as error:
        refusal = refusal_of(error, data)
        sender = _sender(data)
        if sender is None:
            raise refusal from None
        return UnreadBatch(sender.worker_id, sender.lease, refusal)
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_json(error) from None
    commands: list[CommandBody] = []
    refusals: list[Refusal] = []
    for index, raw in enumerate(envelope.commands):
        try:
            commands.append(_decode_command(raw))
        except msgspec.ValidationError as error:
            if not _is_unknown(raw, index):
                refusals.append(at_index(index, refusal_of(error, bytes(raw))))
    if refusals:
        shapes = (refusal for refusal in refusals if isinstance(refusal, BadShape))
        worst = next(shapes, refusals[0])
        return UnreadBatch(envelope.worker_id, envelope.lease, worst)
    return CommandBatch(envelope.worker_id, commands, envelope.lease)


def _sender(data: bytes) -> _Sender | None:
    """Who sent it; a lease of the wrong type counts as none."""
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.json.decode(data, type=_Sender)
    with contextlib.suppress(msgspec.ValidationError):
        return _Sender(msgspec.json.decode(data, type=_SenderAlone).worker_id)
    return None


def _is_unknown(raw: Raw, index: int) -> bool:
    try:
        kind = _decode_type(raw).type
    except msgspec.ValidationError:
        return False
    if kind in _KNOWN:
        return False
    log.warning("command %d has the unknown type %r and is skipped", index, kind)
    return True
