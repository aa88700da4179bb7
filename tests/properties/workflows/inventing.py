"""Programs made up from a seed."""

from random import Random

from tests.properties.workflows.programs import Node, Program, nodes

LEAVES = {
    "activity": 8,
    "parallel": 2,
    "step": 5,
    "side effect": 3,
    "bad effect": 1,
    "nap": 3,
    "doze": 3,
    "signal": 3,
    "timed": 3,
    "child": 3,
    "forget": 1,
    "orphan": 1,
    "upsert": 2,
    "query": 1,
    "dice": 2,
    "patched": 2,
}
BRANCHES = {
    "sequence": 4,
    "gather": 4,
    "group": 4,
    "first": 3,
    "any order": 2,
    "deadline": 3,
    "wait for": 3,
    "shield": 2,
    "finally": 5,
    "cleanup": 4,
    "event": 2,
    "queue": 2,
    "lock": 2,
    "overlap": 3,
    "background": 2,
    "again": 2,
    "within": 2,
}
"""How often each kind is chosen."""
COUNTS = {
    "sequence": (2, 3),
    "gather": (2, 3),
    "group": (2, 3),
    "first": (2, 3),
    "any order": (2, 3),
    "finally": (2, 2),
    "cleanup": (2, 2),
    "event": (2, 2),
    "queue": (2, 3),
    "lock": (2, 3),
    "overlap": (2, 2),
    "background": (1, 2),
    "within": (2, 3),
}
"""How many parts a kind has, if not one."""
CHILDREN = ("quick", "works", "naps", "fails", "chain")
SIGNALS = ("go", "stop")


class Inventor:
    """Makes up one program."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._no = 0
        self._left = dice.randint(2, 12)

    def program(self) -> Program:
        """A few things one after the other, at the bottom of it."""
        parts: list[Node] = []
        while self._left > 0 and len(parts) < 6:
            parts.append(self._node(self._dice.randint(0, 3)))
        if self._dice.random() < 0.12 and not any(_is_loose(part) for part in parts):
            parts.insert(self._dice.randint(0, len(parts)), self._leaf("sick"))
        rounds = self._dice.choice((1, 1, 1, 1, 2, 3))
        ending = self._dice.choice(("return",) * 6 + ("raise", "quit"))
        return Program(Node("sequence", parts=tuple(parts)), rounds, ending)

    def _node(self, depth: int) -> Node:
        if depth == 0 or self._left <= 1 or self._dice.random() < 0.25:
            return self._leaf(self._choose(LEAVES))
        does = self._choose(BRANCHES)
        least, most = COUNTS.get(does, (1, 1))
        parts = tuple(self._node(depth - 1) for _ in range(self._dice.randint(least, most)))
        no = self._next()
        return Node(does, no, parts, most=self._dice.randint(2, 3), secs=self._secs(no, 1, 4, 30))

    def _leaf(self, does: str) -> Node:
        self._left -= 1
        dice, no = self._dice, self._next()
        match does:
            case "activity" | "step":
                most = dice.choice((1, 2, 3))
                fails = dice.choice((0, 0, 0, 1, 2, 9))
                secs, way = self._secs(no, 0, 0.2, 3), dice.choice(("async", "plain"))
                return Node(does, no, fails=fails, most=most, secs=secs, name=way)
            case "parallel":
                return Node(does, no, most=dice.randint(1, 3), fails=dice.choice((0, 0, 0, 9)))
            case "patched":
                return Node(does, no, (Node("activity", self._next()),))
            case _:
                sleeps = does in ("nap", "doze", "timed")
                secs = self._secs(no, 0.01, 0.5, 2, 9) if sleeps else 0.0
                names = {"child": CHILDREN, "orphan": CHILDREN, "signal": SIGNALS, "timed": SIGNALS}
                return Node(does, no, secs=secs, name=dice.choice(names.get(does, ("",))))

    def _secs(self, no: int, *spans: float) -> float:
        """None of two nodes: what is due at the same moment may come in any order."""
        return round(self._dice.choice(spans) * (1 + no / 1000), 6)

    def _choose(self, weights: dict[str, int]) -> str:
        return self._dice.choices(list(weights), list(weights.values()))[0]

    def _next(self) -> int:
        self._no += 1
        return self._no


def _is_loose(node: Node) -> bool:
    """Whether it leaves branches behind, whose activities may fail later."""
    return any(each.does == "background" for each in nodes(node))


def invent(seed: int) -> Program:
    """The program of that seed."""
    return Inventor(Random(f"program {seed}")).program()
