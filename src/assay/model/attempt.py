"""Failed attempts at activities: kept to be looked at, until their activity starts anew."""

from msgspec import Struct


class Attempt(Struct, frozen=True, gc=False):
    """Who tried, from when to when, and what went wrong; `failure` is the JSON object of it."""

    run_no: int
    activity_no: int
    attempt: int
    worker: str | None
    started_at: int
    ended_at: int
    error: str
    failure: str | None = None


class Forgotten(Struct, frozen=True, gc=False):
    """An activity that goes or starts anew: its failed attempts are not kept any longer."""

    run_no: int
    activity_no: int
