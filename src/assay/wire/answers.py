"""Answers that are no records: small objects, one definition each."""

from typing import Literal

from msgspec import Struct

from assay.model.states import RunStatus
from assay.wire.records import ActivityRecord


class Started(Struct, frozen=True):
    """A run began."""

    workflow_id: str
    run_id: str
    status: RunStatus


class Retried(Struct, frozen=True):
    """A failed run was set going again."""

    workflow_id: str
    status: RunStatus
    activity: ActivityRecord
    invalidated_activities: int


class Heard(Struct, frozen=True):
    """A heartbeat was taken."""

    cancel_requested: bool


class Registered(Struct, frozen=True):
    """A worker is known from now on."""

    worker_id: str


class NoTask(Struct, frozen=True):
    """There is nothing to do; existing clients look for this object."""

    task: None


class Health(Struct, frozen=True):
    """The server answers."""

    status: Literal["ok"]
    service: str


class Version(Struct, frozen=True):
    """Which code runs."""

    version: str
    build_profile: Literal["release", "debug"]


class Error(Struct, frozen=True):
    """Why a request was refused."""

    error: str
