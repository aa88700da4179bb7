"""What comes in and what goes out: a request's operations, and the steps the machine asks for."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from assay.core.view import Key
from assay.errors import AssayError
from assay.model.operations import Operation, Outcome
from assay.store.port import Batch, Look

Answer = Sequence[Outcome | AssayError]


class Request:
    """Operations that came together. `answer` is called once, with one outcome for each."""

    __slots__ = ("answer", "operations")

    def __init__(self, operations: tuple[Operation, ...], answer: Callable[[Answer], None]) -> None:
        self.operations = operations
        self.answer = answer


class LoadStep(Struct, frozen=True):
    """Rows are needed before the batch can be decided."""

    keys: tuple[Key, ...]
    looks: tuple[Look, ...]
    lock: bool


class CommitStep(Struct, frozen=True):
    """The batch is decided; it is to be made durable."""

    batch: Batch


class SettleStep(Struct, frozen=True):
    """Nobody knows whether that batch is in; the store is to find out."""

    instance: int
    no: int


Step = LoadStep | CommitStep | SettleStep
