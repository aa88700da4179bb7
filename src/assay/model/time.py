"""The unit of time: whole microseconds since the epoch, UTC. Durations are microseconds too."""

MICROS = 1_000_000
LONGEST_SECONDS = 10**10


def micros(seconds: float) -> int:
    """Seconds as microseconds, capped at the longest span the engine knows."""
    return round(min(seconds, LONGEST_SECONDS) * MICROS)


def seconds(instant: int) -> float:
    """Microseconds as the seconds with fraction that the wire speaks."""
    return instant / MICROS
