"""The search filter (contract 8.10): equality of parsed JSON at a literal key."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from urllib.parse import quote

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json

LONG = "x" * 300
# Each in one notation or more; whether two are equal the model below says.
VALUES = (
    "null",
    "true",
    "false",
    *("0", "-0", "0.0", "-0.0e5", "0e999999999"),
    *("1", "1.0", "1e0", "10e-1", "1.000000000000000000000000001"),
    *("100", "1e2", "1E+2", "100.00"),
    *("-1", "-1.0"),
    *("0.1", "1e-1", "0.10"),
    *("12345678901234567890123456789", "12345678901234567890123456789.0"),
    "12345678901234567890123456788",
    *("1e400", "10e399", "1e401", "1e-400"),
    *("9007199254740993", "9007199254740992"),
    *('"1"', '"true"', '"null"', '""', '" "'),
    *('"é"', '"\\u00e9"', '"e\\u0301"'),
    *('"𝄞"', '"\\ud834\\udd1e"'),
    *('"a/b"', '"a\\/b"', '"\\n"', '"\\u000a"'),
    *(f'"{LONG}"', f'"{LONG}y"', f'"{LONG[:-1]}\\u0078"'),
    *("[]", "[ ]", "[null]", "[[]]", "[1,2]", "[1.0, 2e0]", "[2,1]", "[1,[2]]"),
    *("{}", "{ }", '{"a":null}', '{"a":1,"b":[true]}', '{"b":[true],"a":1.0}', '{"a":{"a":1}}'),
    *('{"a":2,"a":1}', '{"a":1}'),
    f'{{"long":["{LONG}",1]}}',
    f'{{"long":["{LONG}",1.0]}}',
)
KEYS = (
    "k",
    "K",
    "a.b",
    "a",
    "b",
    "",
    " ",
    '"',
    "'",
    "\\",
    "a/b",
    "$.a",
    "[0]",
    "größe",
    "é",
    "e\u0301",
    "𝄞",
    "#",
    "%",
    "\n",
    LONG,
    LONG + "y",
    "ä" * 99,
)


def parsed(text: str) -> Json:
    return json.loads(text, parse_int=Decimal, parse_float=Decimal)


def same(one: Json, other: Json) -> bool:
    """Equality as the contract has it; Python's own takes True for 1."""
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return isinstance(one, Decimal) and isinstance(other, Decimal) and one == other
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same(*pair) for pair in pairs)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


async def start(api: Api, space: str, attributes: str) -> str:
    body = {"workflow_type": "T", "namespace": space, "task_queue": api.queue}
    text = json.dumps({**body, "workflow_id": api.fresh()})[:-1]
    text += f', "search_attributes": {attributes}}}'
    return str((await api.send("POST", "/workflows", text.encode(), 201)).json()["workflow_id"])


async def found(api: Api, space: str, attributes: str) -> set[str]:
    query = f"namespace={space}&limit=1000&search_attrs={quote(attributes)}"
    answer = await api.send("GET", f"/workflows?{query}")
    return {run["id"] for run in answer.json()}


@over_http
async def test_values_are_compared_as_what_they_mean(api: Api) -> None:
    space = await api.open_namespace()
    runs = [await start(api, space, f'{{"k": {value}}}') for value in VALUES]
    absent = await start(api, space, '{"other": null}')
    for wanted in VALUES:
        meant = {
            run
            for run, value in zip(runs, VALUES, strict=True)
            if same(parsed(value), parsed(wanted))
        }
        assert await found(api, space, f'{{"k": {wanted}}}') == meant, wanted
        assert await found(api, space, f' {{ "k" :\n{wanted} }} ') == meant, wanted
    assert absent not in await found(api, space, '{"k": null}')


@over_http
async def test_keys_are_literal(api: Api) -> None:
    space = await api.open_namespace()
    runs = {key: await start(api, space, json.dumps({key: 1})) for key in KEYS}
    nested = await start(api, space, '{"a": {"b": 1}, "nest": [1]}')
    for key, run in runs.items():
        assert await found(api, space, json.dumps({key: 1})) == {run}, key
        assert await found(api, space, json.dumps({key: 1}, ensure_ascii=False)) == {run}, key
        assert await found(api, space, json.dumps({key: 2})) == set(), key
    assert await found(api, space, '{"a": {"b": 1}}') == {nested}


@over_http
async def test_a_key_that_looks_like_the_digest_of_another_is_another(api: Api) -> None:
    space = await api.open_namespace()
    run = await start(api, space, json.dumps({LONG: 1}))
    alike = "#" + hashlib.sha256(LONG.encode()).hexdigest()
    assert await found(api, space, json.dumps({alike: 1})) == set()
    other = await start(api, space, json.dumps({alike: 1}))
    assert await found(api, space, json.dumps({alike: 1})) == {other}
    assert await found(api, space, json.dumps({LONG: 1})) == {run}


@over_http
async def test_all_pairs_must_match_and_the_last_of_a_key_counts(api: Api) -> None:
    space = await api.open_namespace()
    both = await start(api, space, '{"a": 1, "b": 2}')
    one = await start(api, space, '{"a": 1, "b": 3}')
    twice = await start(api, space, '{"a": 5, "b": 2, "a": 1}')
    assert await found(api, space, '{"a": 1}') == {both, one, twice}
    assert await found(api, space, '{"a": 1, "b": 2.0}') == {both, twice}
    assert await found(api, space, '{"b": 9, "a": 1, "b": 3}') == {one}
    assert await found(api, space, '{"a": 1, "c": null}') == set()
    many = json.dumps({f"k{n}": n for n in range(100)})
    run = await start(api, space, many)
    assert await found(api, space, many) == {run}
    assert await found(api, space, many.replace('"k99": 99', '"k99": 98')) == set()


@over_http
async def test_a_run_is_found_by_what_it_has_now(api: Api) -> None:
    space = await api.open_namespace()
    run = await start(api, space, '{"stage": "new", "tier": 1}')
    asked = '{"stage": "new"}', '{"stage": "done"}', '{"tier": 1.0}'

    async def seen() -> list[bool]:
        return [run in await found(api, space, attributes) for attributes in asked]

    assert await seen() == [True, False, True]
    patch = {"type": "UpsertSearchAttributes", "patch": {"stage": "done"}, "seq": 1}
    await api.advance(run, patch)
    assert await seen() == [False, True, True]
    await api.advance(run, {**patch, "seq": 2, "patch": {"stage": "done", "tier": None}})
    assert await seen() == [False, True, False]
    assert await found(api, space, '{"tier": null}') == {run}
    successor = (await api.continue_as_new(run))["id"]
    assert await found(api, space, asked[1]) == {run, successor}
    await api.delete(run)
    assert await found(api, space, asked[1]) == {successor}


@over_http
async def test_a_run_that_takes_the_id_of_a_deleted_one_has_its_own(api: Api) -> None:
    space = await api.open_namespace()
    run = await start(api, space, '{"old": 1}')
    await api.terminate(run)
    await api.delete(run)
    await api.start(run, namespace=space, search_attributes={"new": 1})
    assert await found(api, space, '{"old": 1}') == set()
    assert await found(api, space, '{"new": 1}') == {run}


@over_http
async def test_children_inherit_none_and_are_not_found_by_them(api: Api) -> None:
    space, child = await api.open_namespace(), api.fresh("child")
    run = await start(api, space, '{"a": 1}')
    await api.advance(run, commands.child(child))
    assert await found(api, space, '{"a": 1}') == {run}
    assert child in {each["id"] for each in await api.listed(namespace=space)}
