"""Types in, JSON Schemas out."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from assay.server.openapi.schemas import Schema, Schemas
from assay.wire.fields import JsonText, Nothing, Object, ObjectOrNull, Seq, Whole, said


class Colour(StrEnum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Leaf(Struct):
    """What everything
    ends in."""

    colour: Colour
    size: int = 3


class Tree(Struct, kw_only=True):
    """Leaves."""

    note: str | None = None
    leaves: list[Leaf] | Nothing | None = None
    kept: Raw = Raw(b"null")
    mark: str | UnsetType = UNSET
    name: str


class Up(Struct, tag_field="type", tag="Up"):
    """Higher."""


class Down(Struct, tag_field="type", tag="Down"):
    """Lower."""

    by: int


class Moves(Struct):
    """Up and down."""

    moves: list[Up | Down]


Ref = {"$ref": "#/components/schemas/Leaf"}


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (float | None, {"type": ["number", "null"]}),
        (
            Annotated[int, Meta(ge=1, lt=9)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        ),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal["a"] | None, {"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (list[str] | Nothing | None, {"type": ["array", "null"], "items": {"type": "string"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Raw, {}),
        (Raw | None, {}),
        (Whole, {"type": "integer"}),
        (Seq | None, {"type": ["integer", "null"], "minimum": 1}),
        (Annotated[Seq, said(default=2)], {"type": "integer", "minimum": 1, "default": 2}),
        (Object, {"type": "object"}),
        (ObjectOrNull, {"type": ["object", "null"]}),
        (JsonText | None, {"type": ["string", "null"], "contentMediaType": "application/json"}),
        (Leaf | None, {"anyOf": [Ref, {"type": "null"}]}),
        (Leaf | Up, {"anyOf": [Ref, {"$ref": "#/components/schemas/Up"}]}),
        (
            Annotated[str, said(enum=["x"], default="x")] | None,
            {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}], "default": "x"},
        ),
    ],
)
def test_types(kind: object, schema: Schema) -> None:
    made = Schemas().of(kind)
    assert made == schema
    Draft202012Validator.check_schema(made)


def test_a_struct_is_a_component_with_what_it_refers_to() -> None:
    schemas = Schemas()
    assert schemas.of(list[Tree]) == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Tree"},
    }
    assert schemas.components == {
        "Tree": {
            "description": "Leaves.",
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "note": {"type": ["string", "null"]},
                "leaves": {"type": ["array", "null"], "items": Ref},
                "kept": {},
                "mark": {"type": "string"},
            },
            "required": ["name"],
        },
        "Leaf": {
            "description": "What everything ends in.",
            "type": "object",
            "properties": {
                "colour": {"$ref": "#/components/schemas/Colour"},
                "size": {"type": "integer"},
            },
            "required": ["colour"],
        },
        "Colour": {"description": "A colour.", "type": "string", "enum": ["red", "blue"]},
    }
    tree: Any = schemas.components["Tree"]
    assert next(iter(tree["properties"])) == "name", "what is required comes first"


def test_what_a_field_tells_apart_says_by_which() -> None:
    schemas = Schemas()
    schemas.of(Moves)
    up, down = "#/components/schemas/Up", "#/components/schemas/Down"
    assert schemas.components["Moves"]["properties"] == {
        "moves": {
            "type": "array",
            "items": {
                "oneOf": [{"$ref": up}, {"$ref": down}],
                "discriminator": {"propertyName": "type", "mapping": {"Up": up, "Down": down}},
            },
        }
    }
    assert schemas.components["Down"] == {
        "description": "Lower.",
        "type": "object",
        "properties": {"type": {"type": "string", "const": "Down"}, "by": {"type": "integer"}},
        "required": ["type", "by"],
    }


def test_a_definition_as_parameters() -> None:
    class Asked(Struct):
        colour: Colour | None = None
        limit: Annotated[int, Meta(ge=1, description="How many.")] = 5
        secs: float = 0.0
        kind: tuple[str, ...] = ()

    described = Schemas().parameters(Asked)
    assert [(each["name"], each["in"], "required" in each) for each in described] == [
        (name, "query", False) for name in ("colour", "limit", "secs", "kind")
    ]
    assert [each["schema"] for each in described] == [
        {"$ref": "#/components/schemas/Colour"},
        {"type": "integer", "minimum": 1, "default": 5},
        {"type": "number", "default": 0.0},
        {"type": "array", "items": {"type": "string"}},
    ]
    assert described[1]["description"] == "How many."


def test_two_definitions_of_one_name_are_noticed() -> None:
    schemas = Schemas()
    schemas.of(Leaf)
    other = type("Leaf", (Struct,), {"__annotations__": {"a": int}})
    with pytest.raises(AssertionError, match="two definitions are called Leaf"):
        schemas.of(other)


def test_what_no_schema_is_known_for_is_refused() -> None:
    with pytest.raises(KeyError):
        Schemas().of(bytes)
