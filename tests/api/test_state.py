"""What the queries of a run answer (contract 5.5): from its newest snapshot, untouched."""

from __future__ import annotations

import time

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at, commands_of
from tests.support.http import Json

# Whatever JSON can say; values must come back letter by letter.
STATE = (
    '{"big":123456789012345678901234567890,"tiny":1e-400,"fraction":1.50,"minus":-0,'
    '"order":{"z":1,"a":2},"nul":"\\u0000","pair":"\\ud834\\udd1e","none":null,"a.b":"dotted",'
    '"a":{"b":"nested"},"größe":[1,[]],"a/b":"slash","":"blank"," %2F":"raw","\\u0000":"odd",'
    '"twice":1,"twice":2}'
)
VALUES = {
    "big": "123456789012345678901234567890",
    "tiny": "1e-400",
    "fraction": "1.50",
    "minus": "-0",
    "order": '{"z":1,"a":2}',
    "nul": '"\\u0000"',
    "pair": '"\\ud834\\udd1e"',
    "none": "null",
    "a.b": '"dotted"',
    "a": '{"b":"nested"}',
    "größe": "[1,[]]",
    "a/b": '"slash"',
    " %2F": '"raw"',
    "\0": '"odd"',
    "twice": "2",
}


async def record(api: Api, run: str, state: str, *more: Json) -> None:
    """Answer the run's task with a snapshot of that text."""
    task = await api.claim(run)
    rest = "".join(f", {command}" for command in more)
    snapshot = f'{{"type": "RecordSnapshot", "state": {state}}}'
    body = f'{{"worker_id": "w-test", "lease": "{task["lease"]}", "commands": [{snapshot}{rest}]}}'
    await api.send("POST", commands_of(run), body.encode())


@over_http
async def test_the_state_comes_back_as_it_was_sent(api: Api) -> None:
    run = await api.start()
    before = time.time()
    await record(api, run, STATE)
    answer = await api.send("GET", at(run, "state"))
    text = answer.body.decode()
    assert f'"state":{STATE}' in text
    assert '"event_seq":1' in text
    for name, value in VALUES.items():
        answer = await api.send("GET", at(run, "state", name))
        assert answer.body.decode().startswith(f'{{"value":{value},"event_seq":1,"created_at":'), (
            name,
            answer,
        )
    found = (await api.send("GET", at(run, "state", "none"))).json()
    assert found["value"] is None
    assert before - 1 < found["created_at"] < time.time() + 1


@over_http
async def test_a_name_is_one_literal_key(api: Api) -> None:
    run = await api.start()
    await record(api, run, '{"a": {"b": 1}, "A": 2, "list": [5]}')
    for name in ("a.b", "$.a", "b", "list[0]", "list/0", "0", "á", "a "):
        answer = await api.send("GET", at(run, "state", name), status=404)
        assert answer.error == f"not found: query '{name}' for workflow {run}"
    assert (await api.get(at(run, "state", "A")))["value"] == 2
    await api.send("GET", f"{at(run, 'state')}/%FF", status=400)
    await api.send("GET", f"{at(run, 'state')}/", status=404)


@over_http
async def test_without_a_snapshot_there_is_no_state(api: Api) -> None:
    run, unknown = await api.start(), api.fresh("none")
    for each in (run, unknown):
        answer = await api.send("GET", at(each, "state"), status=404)
        assert answer.error == f"not found: state for workflow {each}"
        answer = await api.send("GET", at(each, "state", "a"), status=404)
        assert answer.error == f"not found: state for workflow {each}"
    await record(api, run, "{}")
    assert (await api.get(at(run, "state")))["state"] == {}
    answer = await api.send("GET", at(run, "state", "a"), status=404)
    assert answer.error == f"not found: query 'a' for workflow {run}"


@over_http
async def test_the_newest_snapshot_counts(api: Api) -> None:
    run = await api.start()
    await record(api, run, '{"step": 1}')
    await api.signal(run, "go")
    await record(api, run, '{"step": 2}')
    found = await api.get(at(run, "state"))
    assert (found["state"], found["event_seq"]) == ({"step": 2}, 2)
    await api.signal(run, "go")
    await api.advance(run, commands.complete())
    assert (await api.get(at(run, "state", "step")))["value"] == 2  # also once the run has ended
    await api.delete(run)
    await api.send("GET", at(run, "state"), status=404)
    await api.start(run)
    await api.send("GET", at(run, "state"), status=404)
