"""The two stores, for engines inside of the test's own process."""

from __future__ import annotations

from tests.support.stores import backend, store

__all__ = ["backend", "store"]
