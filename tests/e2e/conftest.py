"""What tests of whole processes ask for: a store, and a server on it."""

from tests.support.stores import backend, own_server, store

__all__ = ["backend", "own_server", "store"]
