"""Answers that are no records: small objects, one definition each."""

from msgspec import Struct

from assay.wire.records import ActivityRecord


class Started(Struct, frozen=True):
    """A run began."""

    workflow_id: str
    run_id: str
    status: str


class Retried(Struct, frozen=True):
    """A failed run was set going again."""

    workflow_id: str
    status: str
    activity: ActivityRecord
    invalidated_activities: int


class Heard(Struct, frozen=True):
    """A heartbeat was taken."""

    cancel_requested: bool


class Registered(Struct, frozen=True):
    """A worker is known from now on."""

    worker_id: str


class Health(Struct, frozen=True):
    """The server answers."""

    status: str = "ok"
    service: str = "assay-workflow"


class Version(Struct, frozen=True):
    """Which code runs."""

    version: str
    build_profile: str


class Error(Struct, frozen=True):
    """Why a request was refused."""

    error: str
