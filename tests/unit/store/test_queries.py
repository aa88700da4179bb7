"""Named queries: one text, the words of two dialects, and overlays where they differ."""

import pytest

from assay.model.states import RunStatus
from assay.store import queries
from assay.store.postgres.dialect import speak as postgres
from assay.store.queries import load_queries
from assay.store.sqlite.dialect import speak as sqlite


def whole(text: str, **named: str) -> str:
    return queries._whole(text, named)


def test_a_query_may_hold_others() -> None:
    named = {"inner": "SELECT 1", "outer": "(@the(inner)) AS one"}
    assert whole("SELECT * FROM @the(outer)", **named) == "SELECT * FROM (SELECT 1) AS one"


def test_each_status_is_an_arm() -> None:
    text = whole("@each_status{SELECT '@status'}")
    assert text.split("\nUNION ALL\n") == [f"SELECT '{status}'" for status in RunStatus]


def test_arms_that_are_in_order_are_merged() -> None:
    text = "@newest(CAST($1 AS bigint) + $2){ SELECT a UNION ALL SELECT b }"
    assert sqlite(text).split() == ["SELECT", "a", "UNION", "ALL", "SELECT", "b"]
    last = "ORDER BY created_at DESC, id LIMIT CAST($1 AS bigint) + $2"
    assert postgres(text) == f"(SELECT a {last})\nUNION ALL\n(SELECT b {last})"


def test_lists_and_pairs() -> None:
    text = "x IN @ints(1) AND y IN @texts(12) AND z = $10"
    each = "(SELECT value FROM json_each(?{}))"
    assert sqlite(text) == f"x IN {each.format(1)} AND y IN {each.format(12)} AND z = ?10"
    assert postgres(text) == "x = ANY($1::bigint[]) AND y = ANY($12::text[]) AND z = $10"
    assert "json_each(?2)" in sqlite("SELECT key, value FROM @pairs(2) AS pair")
    assert "CAST($2 AS json)" in postgres("SELECT key, value FROM @pairs(2) AS pair")


@pytest.mark.parametrize("speak", [sqlite, postgres])
def test_no_word_is_left_unspoken(speak: queries.Speak) -> None:
    for name, text in load_queries(speak).items():
        assert "@" not in text, name


def test_an_overlay_takes_the_same_parameters() -> None:
    overlay = "-- name: workers\nSELECT $1, $2"
    with pytest.raises(AssertionError, match="workers takes other parameters"):
        load_queries(postgres, overlay)
