"""Payloads: the one seam between the Python values of users and the JSON on the wire.

What is written is plain JSON that any client can read; types are known to the reader, by the
annotations of the functions that take and give the values (`signatures.py`).
"""

from assay.sdk.convert.codec import DEFAULT, Codec, JsonCodec
from assay.sdk.convert.kinds import check_kind
from assay.sdk.convert.models import Payload

__all__ = ["DEFAULT", "Codec", "JsonCodec", "Payload", "check_kind"]
