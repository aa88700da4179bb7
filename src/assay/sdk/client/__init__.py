"""The client: one file per group of calls (contract §20.1), and what they share."""

from assay.sdk.client.client import Client, connect

__all__ = ["Client", "connect"]
