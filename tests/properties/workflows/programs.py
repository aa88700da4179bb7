"""Workflows as data: trees of what their code does, to be printed, cut down and run again."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace


class Node(Struct, frozen=True):
    """One thing a workflow does. What the fields mean depends on `does`; see `interpreter.py`."""

    does: str
    no: int = 0
    parts: tuple["Node", ...] = ()
    fails: int = 0
    most: int = 1
    secs: float = 0.0
    name: str = ""


class Program(Struct, frozen=True):
    """A workflow: what it does, how often it begins anew, and how it ends."""

    body: Node
    rounds: int = 1
    ending: str = "return"


def nodes(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    yield node
    for part in node.parts:
        yield from nodes(part)


def kinds(program: Program) -> set[str]:
    """All that a program does."""
    return {node.does for node in nodes(program.body)}


def signals(program: Program) -> list[str]:
    """The name of each signal that it may wait for, once for every wait."""
    return [name for _ in range(program.rounds) for name in _signals(program.body, 1)]


def _signals(node: Node, times: int) -> Iterator[str]:
    if node.does in ("signal", "timed"):
        yield from [node.name] * times
    for part in node.parts:
        yield from _signals(part, times * node.most if node.does == "again" else times)


def smaller(program: Program) -> Iterator[Program]:
    """Programs that do a little less."""
    if program.rounds > 1:
        yield replace(program, rounds=1)
    if program.ending != "return":
        yield replace(program, ending="return")
    for body in _smaller(program.body):
        yield replace(program, body=body)


def _smaller(node: Node) -> Iterator[Node]:
    """Without one of its parts, a part of it alone, or with a part that is smaller."""
    for at, part in enumerate(node.parts):
        before, after = node.parts[:at], node.parts[at + 1 :]
        if node.does != "sequence":
            yield part
        if len(node.parts) > FEWEST.get(node.does, 1):
            yield replace(node, parts=before + after)
        if part.does == "sequence" and node.does == "sequence":
            yield replace(node, parts=before + part.parts + after)
        for less in _smaller(part):
            yield replace(node, parts=(*before, less, *after))
    if node.fails:
        yield replace(node, fails=0)
    if node.does == "again" and node.most > 1:
        yield replace(node, most=1)


FEWEST = {"sequence": 0, "finally": 2, "cleanup": 2, "event": 2, "overlap": 2}


def text(program: Program) -> str:
    """As one would write it down."""
    lines = [f"rounds={program.rounds} ending={program.ending}", *_lines(program.body, "  ")]
    return "\n".join(lines)


def _lines(node: Node, indent: str) -> Iterator[str]:
    said = {
        name: value
        for name in ("no", "fails", "most", "secs", "name")
        if (value := getattr(node, name)) != getattr(_PLAIN, name)
    }
    yield f"{indent}{node.does}" + "".join(f" {name}={value}" for name, value in said.items())
    for part in node.parts:
        yield from _lines(part, indent + "  ")


_PLAIN = Node("")
