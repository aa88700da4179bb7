"""What the contract says of every field (§2.2-2.4, §5, §6), in plain code of its own.

A judge looks at a value as JSON has it, numbers as exact decimals. Of what is not described here
nothing is known but that the server must survive it: so new routes and fields are tried at once.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum

from msgspec.structs import FieldInfo

from tests.support.http import Json

NAME_BYTES = 1_000
LARGEST_INT = 2**53
LONGEST_SECS = 10**10


class Verdict(Enum):
    """What becomes of a value; the status it is refused with."""

    GOOD = None
    BAD_VALUE = 400
    BAD_SHAPE = 422
    UNKNOWN = 0  # nobody has said


GOOD, BAD_VALUE, BAD_SHAPE, UNKNOWN = Verdict
Judge = Callable[[Json], Verdict]


def anything(_: Json) -> Verdict:
    return GOOD


def nobody_knows(_: Json) -> Verdict:
    return UNKNOWN


def good_if(good: bool) -> Verdict:
    return GOOD if good else BAD_VALUE


# -- texts ---------------------------------------------------------------------------------------


def text(check: Callable[[str], bool]) -> Judge:
    def judge(value: Json) -> Verdict:
        return good_if(check(value)) if isinstance(value, str) else BAD_SHAPE

    return judge


def is_sound(value: str) -> bool:
    return "\0" not in value


def is_short(value: str) -> bool:
    return is_sound(value) and len(value.encode()) <= NAME_BYTES


def is_filled(value: str) -> bool:
    return value.strip() != ""


def one_of(*words: str) -> Judge:
    return text(lambda value: value in words)


GOOD_CRONS = ("0 0 1 1 *", "@yearly", "0 0 0 1 1 ?")
GOOD_ZONES = ("", "UTC", "utc", "Europe/Vienna")

free = text(lambda _: True)  # U+0000 is replaced
filled = text(is_filled)
known = text(is_sound)  # an id of something that may exist
label = text(is_short)
name = text(lambda value: is_short(value) and is_filled(value))
new_id = text(lambda value: is_short(value) or not is_filled(value))  # blank equals absent
cron = text(lambda value: value in GOOD_CRONS)
zone = text(lambda value: value in GOOD_ZONES)


# -- numbers -------------------------------------------------------------------------------------


def number(check: Callable[[Decimal], bool]) -> Judge:
    def judge(value: Json) -> Verdict:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            return BAD_SHAPE
        return good_if(is_a_float(Decimal(value)) and check(Decimal(value)))

    return judge


def is_a_float(value: Decimal) -> bool:
    return float(value) not in (float("inf"), float("-inf"))


def whole(least: int | None = None) -> Judge:
    def judge(value: Json) -> Verdict:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            return BAD_SHAPE
        if value != Decimal(value).to_integral_value():
            return BAD_SHAPE
        lowest = -LARGEST_INT if least is None else least
        return good_if(lowest <= value <= LARGEST_INT)

    return judge


above_zero = number(lambda value: value > 0)
span = number(lambda value: 0 < value <= LONGEST_SECS)
delay = number(lambda value: 0 <= value <= LONGEST_SECS)
any_delay = number(lambda value: value <= LONGEST_SECS)  # negative means none
share = number(lambda value: 0 <= value <= 1)
hold = number(lambda value: 0 <= value <= 60)
integer, from_one = whole(), whole(1)


# -- the rest ------------------------------------------------------------------------------------


def truth(value: Json) -> Verdict:
    return GOOD if isinstance(value, bool) else BAD_SHAPE


def list_of(judge: Judge, *, empty_object: bool = False) -> Judge:
    def judge_all(value: Json) -> Verdict:
        if empty_object and value == {}:
            return GOOD
        if not isinstance(value, list):
            return BAD_SHAPE
        verdicts = {judge(item) for item in value}
        return next((worse for worse in (BAD_SHAPE, BAD_VALUE) if worse in verdicts), GOOD)

    return judge_all


def plain_object(value: Json) -> Verdict:
    return GOOD if isinstance(value, dict) or value == [] else BAD_SHAPE


def sound_object(value: Json) -> Verdict:
    verdict = plain_object(value)
    return good_if(is_sound("".join(texts_in(value)))) if verdict is GOOD else verdict


def texts_in(value: Json) -> list[str]:
    """All strings of a value, keys included, however deep they lie."""
    found, left = [], [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            left += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            left += item
    return found


# -- what an exchange is made of -----------------------------------------------------------------


def no_shape(_: Json) -> Verdict:
    """None of the values that are tried is a structure of its own."""
    return BAD_SHAPE


def version(value: Json) -> Verdict:
    verdict = integer(value)
    return verdict if verdict is BAD_SHAPE else good_if(value == 1)


def kind_of_task(value: Json) -> Verdict:
    return GOOD if value in ("workflow", "activity") else BAD_SHAPE


claim = text(lambda value: re.fullmatch("c[0-9a-f]{1,16}", value) is not None)


# -- the fields of bodies ------------------------------------------------------------------------

OPTIONS: Mapping[str, Judge] = {
    "input": anything,
    "max_attempts": from_one,
    "initial_interval_secs": delay,
    "backoff_coefficient": above_zero,
    "start_to_close_secs": span,
    "heartbeat_timeout_secs": span,
    "max_interval_secs": span,
    "jitter": share,
    "non_retryable": list_of(name, empty_object=True),
}
FENCE: Mapping[str, Judge] = {"worker_id": known, "attempt": integer, "token": known}
POLICY = one_of("skip", "queue", "cancel_old", "allow_all")
NAMED = {"workflow_type": name, "task_queue": name}

START: Mapping[str, Judge] = NAMED | {
    "workflow_id": new_id,
    "namespace": known,
    "input": anything,
    "search_attributes": sound_object,
    "timeout_secs": span,
    "start_delay_secs": delay,
    "if_exists": one_of("error", "use"),
}
SIGNAL: Mapping[str, Judge] = {"payload": anything, "request_id": label}
FAIL: Mapping[str, Judge] = {
    "error": free,
    "failure": plain_object,
    "retryable": truth,
    "retry_after_secs": delay,
}

FIELDS: Mapping[str, Mapping[str, Judge]] = {
    "StartWorkflow": START,
    "SendSignal": SIGNAL,
    "EndWorkflow": {"reason": free},
    "RetryWorkflow": {"requested_by": filled, "reason": filled},
    "ContinueWorkflow": {"input": anything, "workflow_id": new_id},
    "AddActivity": {"seq": from_one, "name": name, "task_queue": name, **OPTIONS},
    "Poll": {"queue": name, "worker_id": name, "wait_secs": hold},
    "CompleteTask": {"result": anything, **FENCE},
    "FailTask": {**FAIL, **FENCE},
    "HeartbeatTask": {"details": anything, **FENCE},
    "RegisterWorker": {
        "identity": name,
        "queue": name,
        "namespace": known,
        "workflows": list_of(name, empty_object=True),
        "activities": list_of(name, empty_object=True),
        "max_concurrent_workflows": integer,
        "max_concurrent_activities": integer,
    },
    "HeartbeatWorker": {"worker_id": name, "workflow_ids": list_of(known)},
    "CreateSchedule": NAMED
    | {
        "name": name,
        "namespace": known,
        "cron_expr": cron,
        "timezone": zone,
        "input": anything,
        "overlap_policy": POLICY,
    },
    "PatchSchedule": {
        "cron_expr": cron,
        "timezone": zone,
        "input": anything,
        "task_queue": name,
        "overlap_policy": POLICY,
    },
    "CreateNamespace": {"name": name},
    "CommandBatch": {"worker_id": name, "lease": known},
    "ScheduleActivity": {"seq": from_one, "name": name, "task_queue": name, **OPTIONS},
    "ScheduleTimer": {"seq": from_one, "duration_secs": any_delay},
    "WaitForSignal": {"name": name, "timer_seq": from_one},
    "StartChildWorkflow": {**NAMED, "workflow_id": name, "input": anything},
    "CancelTimer": {"seq": from_one},
    "RecordSideEffect": {"seq": from_one, "name": label, "value": anything},
    "RecordStep": {
        "seq": from_one,
        "name": name,
        "attempt": from_one,
        "result": anything,
        "error": free,
        "failure": plain_object,
        "final": truth,
        "retry_in_secs": delay,
    },
    "RecordPatch": {"id": name},
    "RecordSnapshot": {"state": plain_object},
    "UpsertSearchAttributes": {"patch": sound_object, "seq": from_one},
    "ContinueAsNew": {"input": anything, "carry": list_of(from_one, empty_object=True)},
    "CompleteWorkflow": {"result": anything},
    "FailWorkflow": {"error": free, "failure": plain_object},
    "CancelWorkflow": {"reason": free},
    "ExchangeRequest": {
        "v": version,
        "session": name,
        "operations": list_of(no_shape),
        "takings": list_of(no_shape),
        "awaited": list_of(known),
        "held": list_of(claim),
        "histories": list_of(no_shape),
        "wait_secs": hold,
    },
    "StartRun": START,
    "SignalRun": {**SIGNAL, "id": known, "name": name},
    "SubmitCommands": {
        "id": known,
        "lease": known,
        "commands": list_of(no_shape),
        "keeps": truth,
        "holds": truth,
        "seen": integer,
    },
    "ShowMismatch": {"id": known, "lease": known, "error": free},
    "Complete": {"no": integer, "result": anything, **FENCE},
    "Fail": {"no": integer, **FAIL, **FENCE},
    "Heartbeat": {"no": integer, "details": anything, **FENCE},
    "HandBack": {"kind": kind_of_task, "no": integer, "token": claim},
}


def judge_of(kind: type, field: FieldInfo) -> Judge:
    """The judge of a field; null stands for absence, which only a required one cannot bear."""
    judge = FIELDS.get(kind.__name__, {}).get(field.name, nobody_knows)

    def judge_null_too(value: Json) -> Verdict:
        if value is None and judge not in (anything, nobody_knows):
            return BAD_SHAPE if field.required else GOOD
        return judge(value)

    return judge_null_too


# -- queries and paths ---------------------------------------------------------------------------


DECIMAL = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


def integer_text(least: int | None = None, most: int | None = None) -> Callable[[str], Verdict]:
    def judge(value: str) -> Verdict:
        digits = value.removesuffix(".0")
        plain = digits.removeprefix("-").removeprefix("+")
        if not (plain.isascii() and plain.isdigit()) or abs(int(digits)) > LARGEST_INT:
            return BAD_VALUE
        at_least = least is None or int(digits) >= least
        return good_if(at_least and (most is None or int(digits) <= most))

    return judge


def word(*words: str) -> Callable[[str], Verdict]:
    return lambda value: good_if(value in words)


def hold_text(value: str) -> Verdict:
    return good_if(DECIMAL.fullmatch(value) is not None and 0 <= Decimal(value) <= 60)


def sound(value: str) -> Verdict:
    return good_if(is_sound(value))


def filter_text(value: str) -> Verdict:
    """An object of search attributes as a client would write it."""
    try:
        read = json.loads(value, parse_constant=int)  # which cannot read NaN
    except (ValueError, RecursionError):
        return BAD_VALUE
    shape = sound_object(read)
    return good_if(shape is GOOD and "\\ud800" not in value and value.count("[") < 500)


STATUSES = ("PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT")
PARAMETERS: Mapping[tuple[str, str], Callable[[str], Verdict]] = {
    ("/workflows/{id}/events", "limit"): integer_text(1),
    ("/workflows/{id}/events", "cursor"): integer_text(),
    ("/workflows/{id}/events", "order"): word("asc", "desc"),
    ("/workflows/{id}/result", "wait_secs"): hold_text,
    ("/workflows", "limit"): integer_text(1, 1000),
    ("/workflows", "offset"): integer_text(0),
    ("/workflows", "status"): word(*STATUSES),
    ("/workflows", "search_attrs"): filter_text,
}
ANYWHERE: Mapping[str, Callable[[str], Verdict]] = {
    "namespace": sound,
    "type": sound,
    "claimed_by": sound,
}


def judge_of_parameter(path: str, parameter: str) -> Callable[[str], Verdict]:
    """The judge of a parameter's text; of one that nobody has described, everything may be true."""
    found = PARAMETERS.get((path, parameter)) or ANYWHERE.get(parameter)
    return found or nobody_knows
