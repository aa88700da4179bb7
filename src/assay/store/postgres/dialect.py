"""The words of the shared queries, in PostgreSQL: lists are arrays."""

import re

_INTS = re.compile(r"IN @ints\((\d+)\)")
_TEXTS = re.compile(r"IN @texts\((\d+)\)")
_PAIRS = re.compile(r"@pairs\((\d+)\)")
_NEWEST = re.compile(r"@newest\((.*?)\)\{(.*?)\}", re.DOTALL)


def speak(text: str) -> str:
    """A shared query as PostgreSQL reads it."""
    text = _INTS.sub(r"= ANY($\1::bigint[])", text)
    text = _TEXTS.sub(r"= ANY($\1::text[])", text)
    text = _PAIRS.sub(
        r"(SELECT pair ->> 0 AS key, pair ->> 1 AS value"
        r" FROM json_array_elements(CAST($\1 AS json)) AS pair)",
        text,
    )
    text = text.replace("@array(", "json_build_array(").replace("@group(", "json_agg(")
    return _NEWEST.sub(_ordered_arms, text)


def _ordered_arms(found: re.Match[str]) -> str:
    """Each arm in order and cut short: so the planner merges them and sorts nothing."""
    last = f"ORDER BY created_at DESC, id LIMIT {found[1]}"
    return "\nUNION ALL\n".join(f"({arm.strip()} {last})" for arm in found[2].split("UNION ALL"))
