"""What comes in and what goes out: a request's operations, and the steps the machine asks for."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from assay.core.view import Key
from assay.errors import AssayError
from assay.model.operations import DeleteRun, Operation, Outcome, Retry, SubmitCommands
from assay.store.port import Batch, Look

Answer = Sequence[Outcome | AssayError]


class Request:
    """Operations that came together. `answer` is called once, with one outcome for each."""

    __slots__ = ("answer", "operations", "stands_alone", "weight")

    def __init__(self, operations: tuple[Operation, ...], answer: Callable[[Answer], None]) -> None:
        self.operations = operations
        self.answer = answer
        self.weight = 0  # how much of a batch it takes up
        self.stands_alone = False  # what reads or deletes all of a run in the store comes alone
        for operation in operations:
            self.weight += 1
            if isinstance(operation, SubmitCommands):
                self.weight += len(operation.commands)
            elif isinstance(operation, Retry | DeleteRun):
                self.stands_alone = True


class LoadStep(Struct, frozen=True):
    """Rows are needed before the batch can be decided.

    `in_order`: plain polls wait on these queues, and have what is ready strictly by its age.
    """

    keys: tuple[Key, ...]
    looks: tuple[Look, ...]
    lock: bool
    in_order: frozenset[Look] = frozenset()


class CommitStep(Struct, frozen=True):
    """The batch is decided; it is to be made durable."""

    batch: Batch


class SettleStep(Struct, frozen=True):
    """Nobody knows whether that batch is in; the store is to find out."""

    instance: int
    no: int


Step = LoadStep | CommitStep | SettleStep
