"""Tenants come and go. What is in one that goes, goes on."""

from assay.core.draft import Draft
from assay.errors import Conflict, NotFound
from assay.model.operations import DONE, CreateNamespace, DeleteNamespace, Done

MAIN = "main"


def create_namespace(draft: Draft, operation: CreateNamespace) -> Done:
    """A new name to start runs under."""
    if draft.namespace(operation.name):
        raise Conflict(f"namespace {operation.name} exists")
    draft.change_namespace(operation.name, created=True)
    return DONE


def delete_namespace(draft: Draft, operation: DeleteNamespace) -> Done:
    """Nothing new can be started in it, and its schedules do not fire."""
    if operation.name == MAIN:
        raise NotFound("not found: cannot delete the 'main' namespace")
    if not draft.namespace(operation.name):
        raise NotFound(f"not found: namespace {operation.name}")
    draft.change_namespace(operation.name, created=False)
    return DONE
