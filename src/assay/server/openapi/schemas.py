"""JSON Schemas of what goes over the wire: types in, schemas out, every `Struct` a component.

The dialect is that of OpenAPI 3.1. msgspec has a generator of its own, but that one fails at
defaults which are `Raw`, and does not know the empty objects that stand for empty lists.
"""

import inspect as python
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import UnionType
from typing import get_args

from msgspec import NODEFAULT, inspect

from assay.wire.fields import Nothing
from assay.wire.parameters import without_none

Schema = dict[str, object]

NULL: Schema = {"type": "null"}
_PLAIN: dict[type[inspect.Type], Schema] = {
    inspect.AnyType: {},
    inspect.RawType: {},
    inspect.NoneType: NULL,
    inspect.BoolType: {"type": "boolean"},
    inspect.StrType: {"type": "string"},
}
_COMPONENTS = "#/components/schemas/"
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class Schemas:
    """Makes schemas, and collects the components that they refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._kinds: dict[str, type] = {}

    def of(self, kind: object) -> Schema:
        """The schema of a type; of a union that no decoder could tell apart, too."""
        if isinstance(kind, UnionType):
            return _either([self.of(choice) for choice in get_args(kind) if choice is not Nothing])
        return self._of(inspect.type_info(kind))

    def parameters(self, kind: type) -> list[Schema]:
        """The fields of a definition as parameters of a query."""
        shape = inspect.type_info(kind)
        assert isinstance(shape, inspect.StructType)
        return [self._parameter(field) for field in shape.fields]

    def _of(self, type: inspect.Type) -> Schema:
        match type:
            case inspect.Metadata():
                return _remarked(self._of(type.type), type.extra_json_schema or {})
            case inspect.StructType():
                return self._component(type.cls, lambda: self._struct(type))
            case inspect.EnumType():
                return self._component(type.cls, lambda: _enumeration(type.cls))
            case inspect.UnionType():
                return self._union(type)
            case inspect.ListType() | inspect.VarTupleType() | inspect.DictType():
                return self._container(type)
            case _:
                return _plain(type)

    def _container(
        self, type: inspect.ListType | inspect.VarTupleType | inspect.DictType
    ) -> Schema:
        if isinstance(type, inspect.DictType):
            return {"type": "object", "additionalProperties": self._of(type.value_type)}
        return {"type": "array", "items": self._of(type.item_type)}

    def _component(self, kind: type, make: Callable[[], Schema]) -> Schema:
        name = kind.__name__
        assert self._kinds.setdefault(name, kind) is kind, f"two definitions are called {name}"
        if name not in self.components:
            self.components[name] = {}  # it may refer to itself
            described = {"description": " ".join((python.getdoc(kind) or "").split())}
            self.components[name] = described | make()
        return {"$ref": _COMPONENTS + name}

    def _struct(self, struct: inspect.StructType) -> Schema:
        if struct.array_like:
            return self._tuple(struct)
        properties: dict[str, Schema] = {}
        required = [field.encode_name for field in struct.fields if field.required]
        if struct.tag_field is not None:
            properties[struct.tag_field] = _words([struct.tag])
            required.insert(0, struct.tag_field)
        for field in sorted(struct.fields, key=lambda field: not field.required):
            properties[field.encode_name] = self._of(field.type)
        schema: Schema = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {})

    def _tuple(self, struct: inspect.StructType) -> Schema:
        """A struct that travels as an array: its fields in their order."""
        items = [{"title": field.name, **self._of(field.type)} for field in struct.fields]
        least = sum(field.required for field in struct.fields)
        return {"type": "array", "prefixItems": items, "minItems": least, "maxItems": len(items)}

    def _union(self, union: inspect.UnionType) -> Schema:
        """One of several; what a type field tells apart says so."""
        choices = [type for type in union.types if not _is_nothing(type)]
        schemas = [self._of(type) for type in choices]
        tagged = [type for type in choices if isinstance(type, inspect.StructType) and type.tag]
        if len(tagged) < len(choices):
            return _either(schemas)
        mapping = {str(type.tag): _COMPONENTS + type.cls.__name__ for type in tagged}
        told_by = {"propertyName": tagged[0].tag_field, "mapping": mapping}
        return {"oneOf": schemas, "discriminator": told_by}

    def _parameter(self, field: inspect.Field) -> Schema:
        schema = self._of(without_none(field.type))
        if field.default is not NODEFAULT and field.default not in (None, ()):
            schema["default"] = field.default
        said = {"description": schema.pop("description")} if "description" in schema else {}
        return {"name": field.encode_name, "in": "query", **said, "schema": schema}


def _plain(type: inspect.Type) -> Schema:
    if isinstance(type, inspect.IntType | inspect.FloatType):
        name = "integer" if isinstance(type, inspect.IntType) else "number"
        given = {word: getattr(type, bound) for bound, word in _BOUNDS.items()}
        return {"type": name} | {word: value for word, value in given.items() if value is not None}
    if isinstance(type, inspect.LiteralType):
        return _words(type.values)
    return dict(_PLAIN[type.__class__])


def _enumeration(kind: type[Enum]) -> Schema:
    return _words([member.value for member in kind])


def _words(known: Sequence[object]) -> Schema:
    """One of these strings; a single one is said to be constant, as generators like it."""
    if len(known) == 1:
        return {"type": "string", "const": known[0]}
    return {"type": "string", "enum": list(known)}


def _remarked(schema: Schema, remark: Mapping[str, object]) -> Schema:
    """A remark that names a type stands for the schema, any other adds to it."""
    return dict(remark) if "type" in remark else {**schema, **remark}


def _either(schemas: list[Schema]) -> Schema:
    """Any of them; where null is one of two, in the short form if there is one."""
    others = [schema for schema in schemas if schema != NULL]
    if {} in others:
        return {}
    if len(others) == len(schemas) or len(others) != 1:
        return {"anyOf": schemas}
    [other] = others
    if isinstance(other.get("type"), str) and not {"enum", "const"} & other.keys():
        return {**other, "type": [other["type"], "null"]}
    usual = {"default": other.pop("default")} if "default" in other else {}
    return {"anyOf": [other, NULL], **usual}


def _is_nothing(type: inspect.Type) -> bool:
    """An empty object in place of an empty list is understood, but recommended to nobody."""
    return isinstance(type, inspect.StructType) and type.cls is Nothing
