"""The command line of every benchmark."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec


class Options(msgspec.Struct, frozen=True):
    """What to measure, on which store, for how long and under which load."""

    name: str
    store: str
    seconds: float
    warmup: float
    runs: int
    in_flight: int
    ends: str
    workflow_pollers: int
    activity_pollers: int
    callers: int
    operations: int
    rows: int
    directory: Path | None
    profile: Path | None
    embedded: bool
    quiet: bool
    keep: bool


def parse(arguments: Sequence[str], names: Sequence[str], description: str) -> Options:
    """Read the command line; argparse ends the process on a bad one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=description)
    add = parser.add_argument
    add("name", choices=names, help="what to measure")
    add("--store", choices=("sqlite", "postgres"), default="sqlite")
    add("--seconds", type=float, default=5.0, help="the measured stretch of each run")
    add("--warmup", type=float, default=2.0, help="load before the measured stretch")
    add("--runs", type=int, default=3, help="each on a fresh store and server; the median counts")
    add("--in-flight", type=int, default=200, help="workflows open at any time")
    add("--ends", choices=("told", "held"), default="told", help="how the client learns of an end")
    add("--workflow-pollers", type=int, default=50)
    add("--activity-pollers", type=int, default=50)
    add("--callers", type=int, default=100, help="committer: concurrent callers")
    add("--operations", type=int, default=40_000, help="committer: completions in one run")
    add("--rows", type=int, default=1_000_000, help="scale: runs in the full store")
    add("--directory", type=Path, help="where the store lies; default: beside the checkout")
    add("--profile", type=Path, help="write py-spy's raw samples of the server here")
    add("--embedded", action="store_true", help="sdk-*: engine, worker and client in one process")
    add("--quiet", action="store_true", help="make runs again that other processes disturbed")
    add("--keep", action="store_true", help="name the JSON kept-*, which git does not ignore")
    return msgspec.convert(vars(parser.parse_args(arguments)), Options)
