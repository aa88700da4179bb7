"""What a program returns if nothing goes wrong but what it asks for: told from the data alone."""

from typing import Any

from tests.properties.workflows.programs import Node, Program

RACE = {"race": None}


def ideal(program: Program) -> Any:
    """The result of its last round, as far as it is certain."""
    return {"value": _of(program.body), **RACE}


def certain(value: Any) -> Any:
    """The same without what may come out one way or the other."""
    if isinstance(value, dict):
        return {name: None if name == "race" else certain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [certain(part) for part in value]
    return value


def work(no: int) -> str:
    """What an activity or a step comes to."""
    return f"done {no}"


def _of(node: Node) -> Any:  # noqa: C901, PLR0911 - one line per kind
    parts = [_of(part) for part in node.parts]
    match node.does:
        case "activity" | "step":
            return f"{node.does} {node.no} failed" if node.fails >= node.most else work(node.no)
        case "parallel":
            return f"parallel {node.no} failed" if node.fails else [work(node.no)] * node.most
        case "bad effect":
            return f"effect {node.no} failed"
        case "sick":
            return work(node.no)
        case "nap" | "doze" | "upsert" | "query" | "background" | "forget" | "orphan":
            return node.no
        case "child":
            return {"works": work(0), "fails": f"child {node.no} failed"}.get(node.name, node.name)
        case "sequence" | "gather" | "group" | "lock" | "finally":
            return parts
        case "event":
            return [parts[1], parts[0]]
        case "overlap":
            return [work(node.no), *parts]
        case "shield" | "cleanup":
            return parts[0]
        case "again":
            return [parts] * node.most
        case _:
            return RACE
