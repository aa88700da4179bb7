"""The page for people: what stands in it, what it may do, and what its scripts make of schemas."""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
import quickjs  # type: ignore[import-untyped] # it ships no types
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import assay.server.openapi
from assay.server.openapi.document import documents
from assay.server.openapi.page import docs_page
from assay.server.routes.table import ROUTES

LARGEST = 30 * 1024
STATIC = files(assay.server.openapi) / "static"
DOCUMENT: Any = json.loads(documents(ROUTES)["/api/v1/"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


class Page(HTMLParser):
    """The page as a browser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)


def page() -> Page:
    return Page(docs_page().body.decode())


def policy() -> dict[str, list[str]]:
    headers = dict(docs_page().headers)
    directives = headers[b"content-security-policy"].decode().split("; ")
    return {name: words for name, *words in map(str.split, directives)}


def script() -> quickjs.Context:
    context = quickjs.Context()
    context.eval((STATIC / "schema.js").read_text("utf-8"))
    return context


SCRIPT = script()


def call(name: str, *arguments: object) -> Any:
    """Call a function of the page's script; values go in and come out as JSON."""
    given = ", ".join(json.dumps(argument) for argument in arguments)
    return json.loads(SCRIPT.eval(f"JSON.stringify({name}({given}))"))


def test_it_has_its_title_and_is_small() -> None:
    assert page().texts["title"] == ["assay-workflow API"]
    assert len(docs_page().body) < LARGEST


def test_it_loads_nothing_but_the_description_beside_it() -> None:
    for tag, attributes in page().elements:
        assert "src" not in attributes, tag
        assert attributes.get("href") in (None, "data:,", "openapi.json"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
    assert "://" not in docs_page().body.decode()


@pytest.mark.parametrize(
    ("element", "directive"), [("script", "script-src"), ("style", "style-src")]
)
def test_its_policy_admits_exactly_what_stands_in_it(element: str, directive: str) -> None:
    texts = page().texts[element]
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    wanted = [f"'sha256-{b64encode(digest).decode()}'" for digest in digests]
    assert policy()[directive] == wanted


def test_its_policy_admits_nothing_else() -> None:
    rest = {name: words for name, words in policy().items() if name[:6] not in ("script", "style-")}
    assert rest == {
        "default-src": ["'none'"],
        "connect-src": ["'self'"],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }


def test_every_field_has_a_label() -> None:
    text = docs_page().body.decode()
    labelled = re.findall(r"<label>[^<]+<input id=\"(\w+)\"", text)
    fields = [attributes["id"] for tag, attributes in page().elements if tag == "input"]
    assert labelled == fields == ["filter", "token"]


def test_its_scripts_ask_for_elements_that_are_there() -> None:
    asked = set(re.findall(r'byId\("(\w+)"\)', (STATIC / "docs.js").read_text("utf-8")))
    assert asked <= {attributes.get("id") for _, attributes in page().elements}


@pytest.mark.parametrize("name", ["schema.js", "docs.js"])
def test_its_scripts_are_sound(name: str) -> None:
    text = (STATIC / name).read_text("utf-8")
    quickjs.Context().eval(f"(function () {{ {text} }})")  # read, not run
    assert "innerHTML" not in text


@pytest.mark.parametrize(
    "kind", sorted({route.takes.kind.__name__ for route in ROUTES.routes if route.takes})
)
def test_a_body_is_prefilled_with_something_that_fits(kind: str) -> None:
    schema = {"$ref": f"#/components/schemas/{kind}"}
    body = call("example", DOCUMENT, schema)
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(body)
    assert body.keys() == DOCUMENT["components"]["schemas"][kind]["properties"].keys()


@pytest.mark.parametrize(
    ("schema", "type", "limits"),
    [
        ({"type": ["string", "null"], "maxLength": 9}, "string | null", "at most 9 long"),
        ({"type": "integer", "minimum": 1, "default": 3}, "integer", "≥ 1, default 3"),
        ({"type": "array", "items": {"$ref": "#/a/RunRecord"}}, "array of RunRecord", ""),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, '"a" | "b" | null', ""),
        ({"const": "Up", "type": "string"}, '"Up"', ""),
        ({}, "any JSON", ""),
    ],
)
def test_a_schema_in_words(schema: Any, type: str, limits: str) -> None:
    assert call("typeText", schema) == type
    assert call("limitsText", schema) == limits


@settings(max_examples=50, deadline=None)
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_is_made_readable_without_changing_it(value: Any) -> None:
    text = json.dumps(value)
    shown = "".join(piece for _, piece in call("prettyJson", text))
    assert json.loads(shown) == value
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)


def test_numbers_are_shown_as_they_were_sent() -> None:
    text = '{"a":[12345678901234567890123,1e400,1.0],"b":{},"c":[]}'
    pieces = call("prettyJson", text)
    assert "".join(piece for _, piece in pieces).splitlines() == [
        *("{", '  "a": [', "    12345678901234567890123,", "    1e400,", "    1.0", "  ],"),
        *('  "b": {},', '  "c": []', "}"),
    ]
    assert ["literal", "1e400"] in pieces
    assert ["key", '"a"'] in pieces
