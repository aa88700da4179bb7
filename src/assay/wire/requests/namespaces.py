"""Namespaces."""

from msgspec import Struct

from assay.model import operations
from assay.wire import values
from assay.wire.fields import Name


class CreateNamespace(Struct):
    """A new tenant."""

    name: Name

    def operation(self) -> operations.CreateNamespace:
        """The name, checked."""
        return operations.CreateNamespace(values.name("name", self.name))
