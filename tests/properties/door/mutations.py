"""Requests by chance: sound ones, about what is there, then bent out of shape here and there.

Much of it is admissible and takes effect, so that the world moves on under the rest. The caller
tells what is answered; ids, leases and tokens of that are used in later requests.
"""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import FieldInfo, fields

from assay.server.route import Route
from assay.server.routes.table import ROUTES
from assay.wire.commands import CommandBody
from assay.wire.exchange.operations import Operations
from tests.properties.door.oracle import GOOD, judge_of
from tests.properties.door.paths import METHODS, PARAMETER_TEXTS
from tests.properties.door.requests import HOLE, SURVIVED, Case, good_value, written
from tests.properties.door.values import NOT_JSON, VALUES, read, string
from tests.support.http import Answer, Json

KEPT = 40  # things remembered of each kind
SECONDS = [b"0", b"0.001", b"0.05", b"1", b"100000"]
SEQS = {
    "seq": [b"1", b"2", b"3"],
    "timer_seq": [b"1", b"2"],
    "attempt": [b"1", b"1", b"2"],
    "wait_secs": [b"0", b"0.001"],
}
FIRST: Mapping[str, list[str]] = {
    "workflow_id": ["held", "pending", "ended", "failed", "parent", "child", "chain-3"],
    "worker_id": ["holder", "doer", *["w"] * 8],
    "queue": ["q", "default"],
    "name": ["go", "work", "yearly", "tenant"],
    "namespace": ["main", "tenant"],
    "lease": ["c1"],
    "token": ["c1"],
}
ALIASES = {"task_queue": "queue", "workflow_ids": "workflow_id", "parent_id": "workflow_id"}
SHORT = [value for value in VALUES if len(value) < 200]
BYTES = [
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"1e9",
    *NOT_JSON,
]


class Sender(msgspec.Struct):
    """Who sent a body, perhaps of an exchange."""

    worker_id: str = "w"
    session: str = "w"


_sender = msgspec.json.Decoder(Sender).decode


class Mutations:
    """A stream of requests from one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.known = {kind: list(names) for kind, names in FIRST.items()}
        self.numbers = [1]
        self.run_nos = [1]
        self.claims: list[tuple[str, bytes, bytes]] = []

    def learn(self, case: Case, answer: Answer) -> None:
        """Remember what an answer names, and which runs are held by whom."""
        if answer.status >= 300 or not answer.body:
            return
        try:
            record = answer.json()
        except msgspec.DecodeError:
            return
        if isinstance(record, dict):
            self._learn_fields(record)
            if "lease" in record:
                worker = _sender(case.body or b"").worker_id
                self._learn_claim(record["workflow_id"], worker, record["lease"])
            for task in record.get("runs", ()):
                self._learn_claim(task["id"], _sender(case.body or b"").session, task["lease"])
                self.run_nos.append(task["no"])
            for task in record.get("activities", ()):
                self.numbers.append(task["no"])
                self.known["token"].append(task["token"])

    def _learn_claim(self, id: str, worker: str, lease: str) -> None:
        self.claims = [*self.claims[-KEPT:], (id, string(worker), string(lease))]

    def _learn_fields(self, record: Mapping[str, Json]) -> None:
        for key, value in record.items():
            kind = ALIASES.get(key, key)
            if kind in self.known and isinstance(value, str):
                self.known[kind].append(value)
                del self.known[kind][: -KEPT or None]
        if isinstance(record.get("id"), int):
            self.numbers.append(record["id"])
            del self.numbers[:-KEPT]

    def request(self) -> Case:
        """The next one."""
        dice = self.dice
        route = dice.choice(ROUTES.routes)
        method = dice.choice(METHODS) if dice.random() < 0.02 else route.method
        path = self._path(route) + self._query(route)
        values = {} if route.takes is None else self._fields(route.takes.kind)
        if "session" in values:
            values |= self._exchange()
        if "commands" in values and self.claims and dice.random() < 0.7:
            id, values["worker_id"], values["lease"] = dice.choice(self.claims[-8:])
            path = route.path.replace("{workflow_id}", quote(id, safe=""))
        body = None if route.takes is None else written(values)
        if body is not None and dice.random() < 0.3:
            body = self._bent(body)
        types = ["", "text/plain", "application/json;x"]
        headers = {"content-type": dice.choice(types)} if dice.random() < 0.03 else {}
        return Case(method, path, body, SURVIVED, headers)

    # -- paths -----------------------------------------------------------------------------------

    def _path(self, route: Route) -> str:
        names = iter(route.holes.items())
        path = HOLE.sub(lambda _: self._segment(route, *next(names)), route.path)
        if self.dice.random() < 0.03:
            place = self.dice.randrange(len(path))
            path = path[:place] + self.dice.choice(["%00", "/", "%", "..", "%2F"]) + path[place:]
        return path

    def _segment(self, route: Route, name: str, type: type) -> str:
        if type is int:
            return str(self.dice.choice(self.numbers))
        kind = "name" if name == "name" else "workflow_id"
        return quote(self.dice.choice(self.known[kind]), safe="")

    def _query(self, route: Route) -> str:
        dice = self.dice
        if route.asks is None or dice.random() < 0.4:
            return ""
        asked = dice.choice(fields(route.asks.kind))
        if asked.encode_name == "wait_secs":
            return "?wait_secs=0.001"
        return f"?{asked.encode_name}={quote(dice.choice(PARAMETER_TEXTS), safe='')}"

    # -- bodies ----------------------------------------------------------------------------------

    def _fields(self, kind: type) -> dict[str, bytes]:
        values = {}
        for field in fields(kind):
            if field.encode_name == "commands":
                values["commands"] = b"[%s]" % b",".join(self._commands())
            elif field.required or self.dice.random() < 0.3:
                values[field.encode_name] = self._value(kind, field)
        return values

    def _commands(self) -> list[bytes]:
        kinds = self.dice.choices(CommandBody.__args__, k=self.dice.choice([0, 1, 1, 1, 2, 3]))
        return [
            written({"type": string(str(kind.__struct_config__.tag)), **self._fields(kind)})
            for kind in kinds
        ]

    def _exchange(self) -> dict[str, bytes]:
        """What an SDK would say, under the name of somebody who may hold a run."""
        dice, queue = self.dice, string(self.dice.choice(self.known["queue"]))
        id, session, lease = dice.choice(self.claims or [("held", string("w"), b'"c1"')])
        parts = {"v": b"1", "session": session}
        held = {"id": string(id), "lease": lease}
        kinds = dice.choices(Operations.__args__, k=dice.choice([0, 0, 1, 1, 3]))
        parts["operations"] = b"[%s]" % b",".join(
            self._operation(kind, held if dice.random() < 0.7 else {}) for kind in kinds
        )
        if dice.random() < 0.6:
            kind, room = dice.choice(["workflow", "activity"]).encode(), dice.randrange(-1, 4)
            parts["takings"] = b'[["%s",%s,%d,%d]]' % (kind, queue, room, dice.randrange(3))
        if dice.random() < 0.3:
            parts["awaited"] = b"[%s]" % string(dice.choice(self.known["workflow_id"]))
        if dice.random() < 0.2:
            parts["held"] = b"[%s]" % lease
        if dice.random() < 0.2:
            parts["histories"] = b"[[%d,%d]]" % (dice.choice(self.run_nos), dice.randrange(5))
        return parts

    def _operation(self, kind: Any, held: Mapping[str, bytes]) -> bytes:
        values = {"op": string(str(kind.__struct_config__.tag)), **self._fields(kind)}
        if "no" in values:
            values["no"] = b"%d" % self.dice.choice(self.numbers)
        return written({**values, **(held if "lease" in values else {})})

    def _value(self, kind: type, field: FieldInfo) -> bytes:
        chance, name = self.dice.random(), field.encode_name
        known = self.known.get(ALIASES.get(name, name))
        if chance < 0.07:
            return self.dice.choice(SHORT if chance < 0.05 else NOT_JSON)
        if known and chance < 0.9:
            value = string(self.dice.choice(known))
            return b"[%s]" % value if name == "workflow_ids" else value
        return self.dice.choice(self._good_values(kind, field))

    def _good_values(self, kind: type, field: FieldInfo) -> list[bytes]:
        name = field.encode_name
        if name in SEQS or name.endswith("_secs"):
            return SEQS.get(name, SECONDS)
        judge = judge_of(kind, field)
        good = [value for value in SHORT if judge(read(value)) is GOOD]
        return good or [good_value(kind, field)]

    # -- bending ---------------------------------------------------------------------------------

    def _bent(self, body: bytes) -> bytes:
        for _ in range(self.dice.randint(1, 3)):
            body = self.dice.choice(self._ways)(self, body)
        return body

    def _place(self, body: bytes) -> int:
        return self.dice.randint(0, len(body))

    def _flip(self, body: bytes) -> bytes:
        place = self._place(body)
        return body[:place] + bytes([self.dice.randrange(256)]) + body[place + 1 :]

    def _insert(self, body: bytes) -> bytes:
        place = self._place(body)
        return body[:place] + self.dice.choice(BYTES) + body[place:]

    def _cut(self, body: bytes) -> bytes:
        first, last = sorted((self._place(body), self._place(body)))
        return body[:first] + body[last:]

    def _double(self, body: bytes) -> bytes:
        first, last = sorted((self._place(body), self._place(body)))
        return body[:last] + body[first:]

    def _replace_token(self, body: bytes) -> bytes:
        """Another value in the place of one, wherever it stands in the tree."""
        tokens = list(TOKEN.finditer(body))
        if not tokens:
            return body
        token = self.dice.choice(tokens)
        return body[: token.start()] + self.dice.choice(SHORT) + body[token.end() :]

    def _shuffle(self, body: bytes) -> bytes:
        """The same fields in another order, one of them twice."""
        try:
            given = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return body
        pairs = [b"%s:%s" % (string(key), bytes(value)) for key, value in given.items()]
        pairs += self.dice.choices(pairs) if pairs else []
        self.dice.shuffle(pairs)
        return b"{%s}" % b",".join(pairs)

    _ways: tuple[Callable[["Mutations", bytes], bytes], ...] = (
        _flip,
        _insert,
        _cut,
        _double,
        _replace_token,
        _replace_token,
        _shuffle,
    )


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+|true|false|null|\[\]|\{\}')
