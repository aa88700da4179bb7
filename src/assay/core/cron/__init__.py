"""Cron: the text of an expression, the name of a zone, and the instants the two stand for.

parse          text → Expression, or BadValue
zone           IANA name → ZoneInfo, or BadValue
next_instant   the first instant after another one
"""

from assay.core.cron.expression import Expression, parse
from assay.core.cron.instants import next_instant
from assay.core.cron.zones import zone

__all__ = ["Expression", "next_instant", "parse", "zone"]
