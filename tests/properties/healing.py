"""The model of the operator's retry (contract §8.11), the one way back from a terminal status."""

from tests.properties.flows import Flow, Work
from tests.properties.model import World


def retry(world: World, id: str) -> bool:
    """The failed activity of the highest seq is tried anew, or nothing happens."""
    flow = world.flows.get(id)
    if flow is None or flow.status != "FAILED" or flow.parent is not None:
        return False
    failed = [seq for seq, work in flow.works.items() if work.status == "FAILED"]
    if not failed:
        return False
    target = max(failed)
    end = len(flow.history)
    since = flow.works[target].told or end
    _void(flow, target, since, end)
    asked = flow.add("ActivityRetryRequested", ("activity", target))
    flow.status = "WAITING"
    flow.works = {seq: work for seq, work in flow.works.items() if seq <= target}
    flow.alarms = {seq: alarm for seq, alarm in flow.alarms.items() if alarm.since <= since}
    old = flow.works[target]
    flow.works[target] = Work(old.name, old.most, asked, old.no, world.now)
    for alarm in flow.alarms.values():
        if alarm.silenced is not None and alarm.silenced[1] == end:
            alarm.state, alarm.fires = "open", world.now + max(0, alarm.fires - alarm.silenced[0])
            alarm.silenced = None
    _bring_back(world, id, target, asked)
    return True


def _void(flow: Flow, target: int, since: int, end: int) -> None:
    flow.void.add(end)
    for seq, (kind, number) in flow.about.items():
        if kind == "activity" and number >= target:
            flow.void.add(seq)
        if kind == "timer" and seq not in flow.void:
            if number in flow.alarms and flow.alarms[number].since > since:
                flow.void.add(seq)


def _bring_back(world: World, id: str, target: int, asked: int) -> None:
    flow = world.flows[id]
    late = []
    for seq, work in flow.works.items():
        if seq < target and work.status == "CANCELLED":
            work.status, work.due, work.since = "PENDING", world.now, asked
        elif work.told is None and work.status in ("COMPLETED", "FAILED"):
            late.append((work.late, work.no, seq))
    for _, _, seq in sorted(late):
        world.report(flow, seq)
    kids = [(kid.ended, kid.no, name) for name, kid in world.flows.items() if kid.parent == id]
    for _, _, name in sorted(kids):
        kid = world.flows[name]
        wanted = flow.asked is None or kid.status == "COMPLETED"
        if not kid.is_open and name not in flow.told and wanted:
            world.tell(flow, name)
