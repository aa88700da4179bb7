"""python -m tests.properties.workflows COUNT [FIRST]: so many programs, and how it went."""

import sys
import time

from tests.properties.workflows.telling import report

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
began, wrong = time.monotonic(), 0
for seed in range(first, first + count):
    found = report(seed)
    if found is not None:
        wrong += 1
        print(found, flush=True)
    if (seed - first + 1) % 1000 == 0:
        print(f"{seed - first + 1} told, {wrong} wrong", flush=True)
secs = time.monotonic() - began
print(f"{count} programs from seed {first} in {secs:.0f} s: {wrong} wrong")
sys.exit(1 if wrong else 0)
