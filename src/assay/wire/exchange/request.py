"""A request of an exchange, and how it is read."""

import msgspec
from msgspec import Struct

from assay.errors import BadShape, BadValue
from assay.model.task import TaskKind
from assay.wire import values
from assay.wire.codec import Body
from assay.wire.exchange.operations import VERSION, Operations
from assay.wire.fields import HoldSecs, Name, Whole


class Taking(Struct, array_like=True):
    """So many tasks of a queue; `seen`: how many of the kind have arrived so far."""

    kind: TaskKind
    queue: Name
    room: Whole
    seen: Whole

    def __post_init__(self) -> None:
        self.room = values.whole("room", self.room)
        self.seen = values.whole("seen", self.seen)


class Position(Struct, array_like=True):
    """A history from behind an event on: of the run of that number."""

    no: Whole
    after: Whole

    def __post_init__(self) -> None:
        self.no = values.whole("no", self.no)
        self.after = values.whole("after", self.after)


class ExchangeRequest(Struct, kw_only=True, omit_defaults=True):
    """Everything an SDK has to say at the moment."""

    v: Whole
    session: Name
    operations: list[Operations] | None = None
    takings: list[Taking] | None = None
    awaited: list[str] | None = None
    held: list[str] | None = None
    histories: list[Position] | None = None
    wait_secs: HoldSecs | None = None

    def __post_init__(self) -> None:
        self.v = values.whole("v", self.v)

    def check(self) -> None:
        """Refuse another version, and values nobody can use."""
        if self.v != VERSION:
            raise BadValue(_other_version(self.v))
        values.name("session", self.session)
        for workflow_id in self.awaited or ():
            values.identifier("workflow id", workflow_id)
        for token in self.held or ():
            values.claim_number(token)
        for position in self.histories or ():
            values.integer("no", position.no)
            values.integer("after", position.after)
        values.hold_secs(self.wait_secs)
        self._check_takings()

    def _check_takings(self) -> None:
        kinds: set[TaskKind] = set()
        for taking in self.takings or ():
            values.name("queue", taking.queue)
            values.integer("room", taking.room)
            values.integer("seen", taking.seen)
            if taking.kind in kinds:
                raise BadValue(f"takings names two queues for {taking.kind} tasks")
            kinds.add(taking.kind)


class _Versioned(Struct):
    v: int | float


class _ExchangeBody(Body[ExchangeRequest]):
    """Who speaks another version is told so, also where its requests have another shape."""

    def read(self, data: bytes) -> ExchangeRequest:
        """The request, or a refusal."""
        try:
            return super().read(data)
        except BadShape as misfit:
            version = _version_of(data)
            if version in (None, VERSION):
                raise
            raise BadShape(f"{_other_version(version)}: {misfit}") from None


def _version_of(data: bytes) -> float | None:
    try:
        return msgspec.json.decode(data, type=_Versioned).v
    except msgspec.ValidationError:
        return None


def _other_version(version: float | None) -> str:
    return (
        f"this engine speaks version {VERSION} of the exchange, the request version "
        f"{version}: use an SDK and an engine of the same release"
    )


EXCHANGE = _ExchangeBody(ExchangeRequest)
