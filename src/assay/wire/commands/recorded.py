"""What a run keeps: values its code has made, and what is shown of it."""

from msgspec import Raw, Struct

from assay.model import commands as model
from assay.wire import values
from assay.wire.codec import (
    NULL,
    check_failure,
    check_object,
    failure_text,
    object_text,
    payload_text,
)
from assay.wire.fields import Failure, Label, Name, Object, Seconds, Seq


class RecordSideEffect(Struct, tag_field="type", tag="RecordSideEffect"):
    """Keep what a side effect returned."""

    seq: Seq
    name: Label | None = None
    value: Raw = NULL

    def __post_init__(self) -> None:
        self.seq = values.whole("seq", self.seq)

    def command(self) -> model.RecordSideEffect:
        """The command, checked."""
        return model.RecordSideEffect(
            values.integer("seq", self.seq, 1),
            values.label("name", self.name or ""),
            payload_text(self.value),
        )


class RecordStep(Struct, tag_field="type", tag="RecordStep"):
    """Keep the outcome of a step: a result, or an error, final unless said otherwise."""

    seq: Seq
    name: Name
    attempt: Seq | None = None
    result: Raw = NULL
    error: str | None = None
    failure: Failure = NULL
    final: bool | None = None
    retry_in_secs: Seconds | None = None

    def __post_init__(self) -> None:
        self.seq = values.whole("seq", self.seq)
        if self.attempt is not None:
            self.attempt = values.whole("attempt", self.attempt)
        check_failure(self.failure)
        if self.final is False and self.error is None:
            raise ValueError(
                "Object missing required field `error`: an attempt that is not final failed"
            )

    def command(self) -> model.RecordStep:
        """The command, checked."""
        return model.RecordStep(
            seq=values.integer("seq", self.seq, 1),
            name=values.name("name", self.name),
            attempt=1 if self.attempt is None else values.integer("attempt", self.attempt, 1),
            result=payload_text(self.result),
            error=None if self.error is None else values.text(self.error),
            final=self.final is not False,
            retry_in_secs=values.delay("retry_in_secs", self.retry_in_secs or 0.0),
            failure=failure_text(self.failure),
        )


class RecordPatch(Struct, tag_field="type", tag="RecordPatch"):
    """Keep that this run takes the new branch of a change in its code."""

    id: Name

    def command(self) -> model.RecordPatch:
        """The command, checked."""
        return model.RecordPatch(values.name("id", self.id))


class RecordSnapshot(Struct, tag_field="type", tag="RecordSnapshot"):
    """Keep what the queries of a run answer, by their names."""

    state: Object

    def __post_init__(self) -> None:
        check_object("state", self.state)

    def command(self) -> model.RecordSnapshot:
        """The command, checked."""
        return model.RecordSnapshot(object_text("state", self.state, nul=True))


class UpsertSearchAttributes(Struct, tag_field="type", tag="UpsertSearchAttributes"):
    """Merge into the run's search attributes."""

    patch: Object
    seq: Seq | None = None

    def __post_init__(self) -> None:
        check_object("patch", self.patch)
        if self.seq is not None:
            self.seq = values.whole("seq", self.seq)

    def command(self) -> model.UpsertSearchAttributes:
        """The command, checked."""
        seq = None if self.seq is None else values.integer("seq", self.seq, 1)
        return model.UpsertSearchAttributes(object_text("patch", self.patch), seq)
