"""Play one story aloud: python -m tests.faults.simulation MODE SEED."""

import sys

from tests.faults.simulation.world import simulate

mode, seed = sys.argv[1:]
trace = simulate(int(seed), mode, loud=True)
print(f"{trace.events} events, {trace.commits} commits, digest {trace.digest}")
