"""How often a benchmark is run, and which of its runs count."""

import sys
from collections.abc import Callable

from benchmarks.machine import describe
from benchmarks.options import Options
from benchmarks.results import FOREIGN, Report, Run, medians
from benchmarks.rig import ROOT

QUIET_CORES = 0.1
TRIES_PER_RUN = 10


def repeat(options: Options, title: str, unit: str, aim: str, run: Callable[[int], Run]) -> Report:
    """Run as often as was asked for; with `--quiet` a disturbed run is told of and made again."""
    machine = describe(options.directory or ROOT.parent)
    runs: list[Run] = []
    tries = options.runs * (TRIES_PER_RUN if options.quiet else 1)
    while len(runs) < options.runs and tries > 0:
        tries -= 1
        one = run(len(runs))
        if options.quiet and one.figures.get(FOREIGN, 0.0) > QUIET_CORES:
            sys.stderr.write(f"disturbed, made again: {one.figures}\n")
            continue
        runs.append(one)
    if not runs:
        raise RuntimeError("no run was undisturbed")
    return Report(title, unit, aim, options, machine, runs, medians(runs))
