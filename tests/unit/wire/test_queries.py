"""Queries in, what is asked for out; what no definition admits is refused."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from assay.errors import BadValue
from assay.model.states import RunStatus
from assay.wire.parameters import Query
from assay.wire.queries import HOLD, PAGE_OF_EVENTS, RUNS, SCOPE, Hold, RunFilter, Scope
from assay.wire.values import LARGEST_INT


class Sample(Struct, frozen=True):
    """One parameter of every kind."""

    name: str | None = None
    status: RunStatus | None = None
    order: Literal["asc", "desc"] | None = None
    limit: Annotated[int, Meta(ge=1, le=10)] = 5
    secs: Annotated[float, Meta(ge=0, le=2.5)] | None = None
    kind: tuple[str, ...] = ()


SAMPLE = Query(Sample)


def test_what_is_absent_has_its_default() -> None:
    assert SAMPLE.read({}) == SAMPLE.read({"other": ["1"]}) == Sample()


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ({"name": [""]}, Sample(name="")),
        ({"name": ["null"]}, Sample(name="null")),
        ({"name": ["a", "b"]}, Sample(name="b")),
        ({"status": ["TIMED_OUT"]}, Sample(status=RunStatus.TIMED_OUT)),
        ({"order": ["desc"]}, Sample(order="desc")),
        ({"limit": ["1"]}, Sample(limit=1)),
        ({"limit": ["10.00"]}, Sample(limit=10)),
        ({"limit": ["abc", "+3"]}, Sample(limit=3)),
        ({"secs": ["0"]}, Sample(secs=0.0)),
        ({"secs": ["25e-1"]}, Sample(secs=2.5)),
        ({"kind": ["a", "b", "a"], "more": ["x"]}, Sample(kind=("a", "b", "a"))),
    ],
)
def test_a_definition_reads_what_it_says(query: dict[str, list[str]], asked: Sample) -> None:
    assert SAMPLE.read(query) == asked


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        *(("limit", text) for text in ("0", "11", "-1", "abc", "1.5", "", "1e1", "null", "9" * 30)),
        *(("secs", text) for text in ("-0.1", "2.6", "", "x", "nan", "inf", "1e999", "0x1")),
        *(("status", text) for text in ("", "running", "DONE", "RUNNING ")),
        *(("order", text) for text in ("up", "", "ASC")),
        *(("name", text) for text in ("a\0b", "a\ud800")),
        ("kind", "\0"),
    ],
)
def test_what_it_does_not_admit_is_refused_by_name(parameter: str, text: str) -> None:
    with pytest.raises(BadValue, match=parameter):
        SAMPLE.read({parameter: [text]})


def test_a_parameter_must_have_a_default_and_a_type_that_can_be_read() -> None:
    class Demanding(Struct):
        name: str

    class Strange(Struct):
        name: bytes = b""

    with pytest.raises(AssertionError, match="absent"):
        Query(Demanding)
    with pytest.raises(TypeError, match="name"):
        Query(Strange)


def test_the_usual_namespace() -> None:
    assert SCOPE.read({}) == Scope("main")
    assert SCOPE.read({"namespace": ["n"]}) == Scope("n")


def test_how_long_an_answer_may_be_held() -> None:
    assert HOLD.read({}) == Hold(0.0)
    assert HOLD.read({"wait_secs": ["60"]}) == Hold(60.0)
    for text in ("60.1", "-1"):
        with pytest.raises(BadValue):
            HOLD.read({"wait_secs": [text]})


@pytest.mark.parametrize(
    ("query", "cursor", "size", "descending"),
    [
        ({}, None, None, False),
        ({"other": ["1"]}, None, None, False),
        ({"limit": ["2.0"]}, None, 2, False),
        ({"limit": ["5000"]}, None, 1000, False),
        ({"cursor": ["-3"]}, -3, 50, False),
        ({"order": ["desc"], "cursor": ["9"]}, 9, 50, True),
        ({"order": ["asc"]}, None, 50, False),
    ],
)
def test_pages(
    query: dict[str, list[str]], cursor: int | None, size: int | None, descending: bool
) -> None:
    page = PAGE_OF_EVENTS.read(query)
    assert (page.cursor, page.size, page.descending) == (cursor, size, descending)


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        *(("limit", text) for text in ("0", "-1")),
        *(("cursor", text) for text in ("x", "", "1e3", str(LARGEST_INT + 1))),
        *(("order", text) for text in ("up", "", "ASC")),
    ],
)
def test_pages_that_are_refused(parameter: str, text: str) -> None:
    with pytest.raises(BadValue):
        PAGE_OF_EVENTS.read({parameter: [text]})


def test_blanks_may_count_as_absent_where_that_is_said() -> None:
    query = Query(Sample, blank_is_absent=frozenset({"name", "kind"}))
    assert query.read({"name": [""], "kind": [""]}) == Sample()
    assert query.read({"name": ["", "a"]}) == Sample(name="a")
    assert query.read({"name": ["a", ""]}) == Sample()
    with pytest.raises(BadValue, match="limit"):
        query.read({"limit": [""]})


def test_which_runs_are_listed() -> None:
    assert RUNS.read({}) == RunFilter() == RunFilter("main", limit=50, offset=0)
    query = {"status": ["FAILED"], "type": ["T"], "claimed_by": ["w"], "namespace": ["n"]}
    assert RUNS.read(query) == RunFilter("n", RunStatus.FAILED, "T", "w")
    assert RUNS.read({"limit": ["1000"], "offset": [str(2**53)]}) == RunFilter(
        limit=1000, offset=2**53
    )
    for wrong in (
        {"limit": ["1001"]},
        {"limit": ["0"]},
        {"offset": ["-1"]},
        {"status": ["failed"]},
        *({name: [""]} for name in ("limit", "offset", "status")),
    ):
        with pytest.raises(BadValue):
            RUNS.read(wrong)


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("{}", "{}"),
        ("[]", "{}"),
        (" [ \n] ", "{}"),
        (' {"a" : 1.0} ', '{"a" : 1.0}'),
        ('{"ä":"\\\\u0000"}', '{"ä":"\\\\u0000"}'),
    ],
)
def test_search_attributes_are_an_object(text: str, attributes: str) -> None:
    assert RunFilter(search_attrs=text).attributes() == attributes


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "1",
        '"{}"',
        "[1]",
        "[{}]",
        "{",
        '{"a":1}x',
        '{"a":NaN}',
        "{'a':1}",
        '{"a":"\\u0000"}',
    ],
)
def test_what_is_no_object_of_attributes(text: str) -> None:
    with pytest.raises(BadValue, match="search_attrs"):
        RunFilter(search_attrs=text).attributes()
    assert RunFilter().attributes() is None
