"""How much of what a run asks for goes out at once: a request has at most 2 MiB."""

from collections.abc import Sequence

from msgspec import Raw

from assay.wire.commands import CommandBody

LARGE = 1_000_000  # bytes of payloads; commands beyond that wait for the next batch
PAYLOADS = ("input", "result", "value", "state", "patch", "failure", "details")
OVERHEAD = 300  # bytes of a command beside its payloads, about


def one_batch(commands: Sequence[CommandBody]) -> tuple[list[CommandBody], list[CommandBody]]:
    """As many as fit, one at least; and the rest."""
    size = 0
    for at, command in enumerate(commands):
        size += size_of(command)
        if at and size > LARGE:
            return list(commands[:at]), list(commands[at:])
    return list(commands), []


def size_of(command: CommandBody) -> int:
    """About how long it is when it is written."""
    sizes = (
        len(value) for name in PAYLOADS if isinstance(value := getattr(command, name, None), Raw)
    )
    return OVERHEAD + sum(sizes)
