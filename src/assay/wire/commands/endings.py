"""How a handler ends."""

from typing import Annotated

from msgspec import Raw, Struct

from assay.model import commands as model
from assay.wire import values
from assay.wire.codec import NULL, check_failure, failure_text, payload_text
from assay.wire.fields import Failure, Nothing, Seq, said

DEFAULT_ERROR = "workflow handler raised an error"


class ContinueAsNew(Struct, tag_field="type", tag="ContinueAsNew"):
    """End this run and go on as a new one, with the signals of these event seqs."""

    input: Raw = NULL
    carry: list[Seq] | Nothing | None = None

    def __post_init__(self) -> None:
        if isinstance(self.carry, list):
            self.carry = [values.whole("carry", seq) for seq in self.carry]

    def command(self) -> model.ContinueAsNew:
        """The command, checked."""
        carry = self.carry if isinstance(self.carry, list) else []
        seqs = tuple(values.integer("carry", seq, 1) for seq in carry)
        return model.ContinueAsNew(payload_text(self.input), seqs)


class CompleteWorkflow(Struct, tag_field="type", tag="CompleteWorkflow"):
    """The handler returned."""

    result: Raw = NULL

    def command(self) -> model.CompleteWorkflow:
        """The command, checked."""
        return model.CompleteWorkflow(payload_text(self.result))


class FailWorkflow(Struct, tag_field="type", tag="FailWorkflow"):
    """The handler raised."""

    error: Annotated[str, said(default=DEFAULT_ERROR)] | None = None
    failure: Failure = NULL

    def __post_init__(self) -> None:
        check_failure(self.failure)

    def command(self) -> model.FailWorkflow:
        """The command, checked."""
        error = DEFAULT_ERROR if self.error is None else values.text(self.error)
        return model.FailWorkflow(error, failure_text(self.failure))


class CancelWorkflow(Struct, tag_field="type", tag="CancelWorkflow"):
    """The handler ended as cancelled."""

    reason: str | None = None

    def command(self) -> model.CancelWorkflow:
        """The command, checked."""
        reason = self.reason
        return model.CancelWorkflow(None if reason is None else values.text(reason))
