"""Paths and methods in, routes or a turned request out."""

import pytest

from assay.server.problems import Turned
from assay.server.routes.table import ROUTES


@pytest.mark.parametrize("prefix", ["/api/v1", "/api/v1/engine/workflow"])
@pytest.mark.parametrize(
    ("method", "path", "route", "segments"),
    [
        ("GET", "/health", "/health", ["health"]),
        ("POST", "/workflows", "/workflows", ["workflows"]),
        ("GET", "/workflows/a", "/workflows/{id}", ["workflows", "a"]),
        ("GET", "/workflows/a%2Fb", "/workflows/{id}", ["workflows", "a/b"]),
        ("GET", "/workflows/a%252Fb", "/workflows/{id}", ["workflows", "a%2Fb"]),
        ("GET", "/workflows/a+b", "/workflows/{id}", ["workflows", "a+b"]),
        ("GET", "/workflows/%C3%A9", "/workflows/{id}", ["workflows", "é"]),
        ("GET", "/workflows/%FF", "/workflows/{id}", ["workflows", "\udcff"]),
        ("GET", "/workflows/%zz", "/workflows/{id}", ["workflows", "%zz"]),
        (
            *("POST", "/workflows/events/signal/a%2Fb", "/workflows/{id}/signal/{name}"),
            ["workflows", "events", "signal", "a/b"],
        ),
        ("POST", "/workflow-tasks/poll", "/workflow-tasks/poll", ["workflow-tasks", "poll"]),
        (
            *("POST", "/workflow-tasks/poll/commands", "/workflow-tasks/{workflow_id}/commands"),
            ["workflow-tasks", "poll", "commands"],
        ),
        ("POST", "/tasks/12/fail", "/tasks/{id}/fail", ["tasks", "12", "fail"]),
        ("GET", "/workflows/%7B%7D", "/workflows/{id}", ["workflows", "{}"]),
        (
            "GET",
            "/workflows/{id}/events",
            "/workflows/{id}/events",
            ["workflows", "{id}", "events"],
        ),
        ("GET", "/workflows/%7B%7D%2Fevents", "/workflows/{id}", ["workflows", "{}/events"]),
        ("GET", "/workflows/a%2Fevents", "/workflows/{id}", ["workflows", "a/events"]),
        ("GET", "/workflows/%2F", "/workflows/{id}", ["workflows", "/"]),
        ("GET", "/%77orkflows/a", "/workflows/{id}", ["workflows", "a"]),
    ],
)
def test_routes(prefix: str, method: str, path: str, route: str, segments: list[str]) -> None:
    found, decoded = ROUTES.find(method, (prefix + path).encode())
    assert (found.method, found.path, decoded) == (method, route, segments)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/api", "/api/v1", "/api/v1/", "/api/v2/health", "/API/v1/health"),
        *("/api/v1/nowhere", "/api/v1/workflows/", "/api/v1/workflows//events"),
        *("/api/v1/workflows/a/", "/api/v1/workflows/a/events/1", "/api/v1/tasks"),
        *("/api/v1/engine/workflow", "/api/v1/engine/workflow/", "/api/v1//health"),
        *("/api/v1/{}/{}", "/api/v1/workflows/a/signal/", "/api/v1/{}", "/api/v1/tasks/{}"),
        *("/api/v1/workflows%2F%7B%7D", "/api/v1/workflows%2Fa", "/api/v1/tasks%2Fpoll"),
        *("/api/v1/workflows/a%2Fb/events%2F", "/api/v1%2Fhealth", "/api/v1/%2Fhealth"),
        *("/api/v1/workflows/{}/{}", "/api/v1/workflows/Hole.HOLE/HOLE", "/api/v1/workflows%2F"),
    ],
)
def test_unknown_paths(path: str) -> None:
    with pytest.raises(Turned) as turned:
        ROUTES.find("GET", path.encode())
    assert turned.value.answer.status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("HEAD", "/api/v1/health", b"GET"),
        ("GET", "/api/v1/tasks/poll", b"POST"),
        ("PUT", "/api/v1/engine/workflow/workflows/a", b"DELETE, GET"),
        ("POST", "/api/v1/workflows/%7B%7D%2Fevents", b"DELETE, GET"),
    ],
)
def test_wrong_methods(method: str, path: str, allowed: bytes) -> None:
    with pytest.raises(Turned) as turned:
        ROUTES.find(method, path.encode())
    assert turned.value.answer.status == 405
    assert (b"allow", allowed) in turned.value.answer.head()
