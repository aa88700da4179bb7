"""All ways a value takes through a server: in by each request, out by each answer that shows it."""

import json
from collections.abc import Iterator, Sequence

import msgspec

from tests.properties.json_texts import has_nul, tokens
from tests.support.api import Api
from tests.support.caller import at, commands_of
from tests.support.http import Json

FAR = "5000000"
Raws = dict[str, msgspec.Raw]
_fields = msgspec.json.Decoder(Raws).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def fields(raw: bytes | msgspec.Raw) -> dict[str, str]:
    """The fields of an object, each as the text it was written as."""
    return {key: bytes(value).decode() for key, value in _fields(bytes(raw)).items()}


def objects(raw: bytes | msgspec.Raw) -> list[dict[str, str]]:
    return [fields(item) for item in _items(bytes(raw))]


def text_in(string: str) -> str | None:
    """JSON text that an answer shows in a string."""
    text: str | None = json.loads(string)
    return text


def expect(shown: str | None, sent: str) -> None:
    """As it was sent, but for the white space; null and an absent value are alike."""
    if shown == sent:
        return
    if tokens(sent) == ["null"]:
        assert shown in (None, "null"), shown
    else:
        assert shown is not None
        assert tokens(shown) == tokens(sent), f"{sent[:500]!r} came back as {shown[:500]!r}"


def array(texts: Sequence[str]) -> str:
    return f"[{','.join(texts)}]"


class Journey:
    """One run, its child and its successors, each carrying all of these texts."""

    def __init__(self, api: Api, texts: Sequence[str]) -> None:
        self.api = api
        self.texts = list(texts)
        self.run = api.fresh()
        self.child_queue = api.fresh("queue")

    async def post(self, path: str, body: str, status: int = 200) -> bytes:
        return (await self.api.send("POST", path, body.encode(), status)).body

    async def submit(self, run: str, commands: Sequence[str], lease: str) -> None:
        body = f'{{"worker_id":"w-test","lease":{lease},"commands":{array(commands)}}}'
        await self.post(commands_of(run), body)

    async def claim(self, queue: str | None = None) -> dict[str, str]:
        body = json.dumps({"queue": queue or self.api.queue, "worker_id": "w-test", "wait_secs": 9})
        return fields(await self.post("/workflow-tasks/poll", body))

    async def get(self, path: str) -> bytes:
        return (await self.api.send("GET", path)).body

    async def events(self, run: str) -> list[tuple[str, str | None]]:
        """Types and payloads; the history that a worker gets is checked beside it elsewhere."""
        lines = objects(await self.get(at(run, "events")))
        return [(json.loads(line["event_type"]), text_in(line["payload"])) for line in lines]

    async def payloads(self, run: str, kind: str, field: str) -> list[str]:
        """One field of all events of a kind."""
        found = [payload for name, payload in await self.events(run) if name == kind]
        return [fields((payload or "{}").encode()).get(field, "null") for payload in found]

    async def travel(self) -> None:
        whole = array(self.texts)
        await self._start(whole)
        await self._activities()
        await self._signals()
        await self._snapshots()
        await self._child(whole)
        await self._successors(whole)

    # -- stations --------------------------------------------------------------------------------

    async def _start(self, whole: str) -> None:
        body = (
            f'{{"workflow_type":"Story","task_queue":"{self.api.queue}","workflow_id":"{self.run}"'
        )
        await self.post("/workflows", f'{body},"input":{whole}}}', 201)
        expect(text_in(fields(await self.get(at(self.run)))["input"]), whole)
        task = await self.claim()
        expect(task["input"], whole)
        [started] = objects(task["history"].encode())
        expect(started["payload"], whole)
        expect((await self.events(self.run))[0][1], whole)
        await self.submit(self.run, list(self._first_commands()), task["lease"])
        for kind, field in (("SideEffectRecorded", "value"), ("StepCompleted", "result")):
            for shown, sent in self._pairs(await self.payloads(self.run, kind, field)):
                expect(shown, sent)
        scheduled = await self.payloads(self.run, "ActivityScheduled", "input")
        for shown, sent in self._pairs(scheduled):
            expect(text_in(shown), sent)  # JSON text in the history too

    def _first_commands(self) -> Iterator[str]:
        for seq, text in enumerate(self.texts, 1):
            options = f'"task_queue":"{self.api.queue}","start_to_close_secs":{FAR}'
            yield f'{{"type":"ScheduleActivity","seq":{seq},"name":"n",{options},"input":{text}}}'
            yield f'{{"type":"RecordSideEffect","seq":{seq},"name":"e","value":{text}}}'
            yield f'{{"type":"RecordStep","seq":{seq},"name":"s","result":{text}}}'

    def _pairs(self, shown: list[str]) -> list[tuple[str, str]]:
        assert len(shown) == len(self.texts), shown
        return list(zip(shown, self.texts, strict=True))

    async def _activities(self) -> None:
        for text in self.texts:
            body = json.dumps({"queue": self.api.queue, "worker_id": "w-test"})
            record = fields(await self.post("/tasks/poll", body))
            expect(text_in(record["input"]), text)
            no = record["id"]
            await self.post(f"/tasks/{no}/heartbeat", f'{{"details":{text}}}')
            expect(text_in(fields(await self.get(f"/activities/{no}"))["heartbeat_details"]), text)
            await self.post(f"/tasks/{no}/complete", f'{{"result":{text}}}')
            expect(text_in(fields(await self.get(f"/activities/{no}"))["result"]), text)
        for shown, sent in self._pairs(
            await self.payloads(self.run, "ActivityCompleted", "result")
        ):
            expect(shown, sent)

    async def _signals(self) -> None:
        for text in self.texts:
            await self.post(at(self.run, "signal", "go"), f'{{"payload":{text}}}')
        for shown, sent in self._pairs(await self.payloads(self.run, "SignalReceived", "payload")):
            expect(shown, sent)

    async def _snapshots(self) -> None:
        state = (
            f"{{{','.join(f'{json.dumps(str(n))}:{text}' for n, text in enumerate(self.texts))}}}"
        )
        sound = {f"k{n}": text for n, text in enumerate(self.texts) if not has_nul(text)}
        patch = f"{{{','.join(f'{json.dumps(key)}:{text}' for key, text in sound.items())}}}"
        task = await self.claim()
        commands = [
            f'{{"type":"RecordSnapshot","state":{state}}}',
            f'{{"type":"UpsertSearchAttributes","seq":1,"patch":{patch}}}',
        ]
        await self.submit(self.run, commands, task["lease"])
        expect(fields(await self.get(at(self.run, "state")))["state"], state)
        for n, text in enumerate(self.texts):
            shown = fields(await self.get(at(self.run, "state", n)))["value"]
            assert tokens(shown) == tokens(text)  # null too
        [shown] = await self.payloads(self.run, "SearchAttributesUpserted", "patch")
        expect(shown, patch)
        attributes = text_in(fields(await self.get(at(self.run)))["search_attributes"])
        kept = fields((attributes or "").encode())
        assert {key: tokens(kept[key]) for key in sound} == {
            key: tokens(text) for key, text in sound.items()
        }

    async def _child(self, whole: str) -> None:
        child, task = f"{self.run}-child", await self.claim()
        command = f'"workflow_type":"C","workflow_id":"{child}","task_queue":"{self.child_queue}"'
        command = f'{{"type":"StartChildWorkflow",{command},"input":{whole}}}'
        await self.submit(self.run, [command], task["lease"])
        task = await self.claim(self.child_queue)
        expect(task["input"], whole)
        end = f'{{"type":"CompleteWorkflow","result":{whole}}}'
        await self.submit(child, [end], task["lease"])
        [shown] = await self.payloads(self.run, "ChildWorkflowCompleted", "result")
        expect(shown, whole)
        expect((await self.events(child))[-1][1], whole)
        for path in (at(child), at(child, "result")):
            record = fields(await self.get(path))
            expect(text_in(record["input"]), whole)
            expect(text_in(record["result"]), whole)
        [record] = objects(await self.get(at(self.run, "children")))
        expect(text_in(record["result"]), whole)

    async def _successors(self, whole: str) -> None:
        signals = [
            n for n, line in enumerate(await self.events(self.run), 1) if "Signal" in line[0]
        ]
        task = await self.claim()
        history = objects(task["history"].encode())
        sent = [line["payload"] for line in history if line["event_type"] == '"SignalReceived"']
        for shown, text in self._pairs([fields(payload.encode())["payload"] for payload in sent]):
            expect(shown, text)
        command = f'{{"type":"ContinueAsNew","input":{whole},"carry":{signals}}}'
        await self.submit(self.run, [command], task["lease"])
        record = fields((await self.api.send("GET", at(self.run, "result"), status=202)).body)
        second = json.loads(record["id"])
        expect(text_in(record["input"]), whole)
        for shown, text in self._pairs(await self.payloads(second, "SignalReceived", "payload")):
            expect(shown, text)
        third = f"{self.run}-third"
        body = f'{{"workflow_id":"{third}","input":{whole}}}'
        expect(
            text_in(fields(await self.post(at(second, "continue-as-new"), body, 201))["input"]),
            whole,
        )
        task = await self.claim()
        expect(task["input"], whole)
        await self.submit(third, [f'{{"type":"CompleteWorkflow","result":{whole}}}'], task["lease"])
        for record in await self._listed(third):
            expect(text_in(record["input"]), whole)
            expect(text_in(record["result"]), whole)

    async def _listed(self, run: str) -> list[dict[str, str]]:
        listed = objects(await self.get("/workflows?limit=1000"))
        shown = [record for record in listed if json.loads(record["id"]) == run]
        assert shown
        return shown


async def scheduled(api: Api, texts: Sequence[str]) -> dict[str, str]:
    """A schedule for each text; the record shows it. Names and texts."""
    made = {}
    for text in texts:
        name = api.fresh("schedule")
        body = f'{{"name":"{name}","workflow_type":"S","cron_expr":"@yearly","input":{text}}}'
        answer = await api.send("POST", "/schedules", body.encode(), 201)
        expect(text_in(fields(answer.body)["input"]), text)
        made[name] = text
    return made


async def check_fired(api: Api, made: dict[str, str]) -> None:
    """The runs that the schedules have started got the texts."""
    for name, text in made.items():
        record: Json = (await api.send("PATCH", f"/schedules/{name}")).json()
        answer = await api.send("GET", at(record["last_workflow_id"]))
        expect(text_in(fields(answer.body)["input"]), text)
