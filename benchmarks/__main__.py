"""`python -m benchmarks NAME`: run one benchmark, print its table and keep its JSON."""

import sys

from benchmarks import committer, idle, replay, scale, sdk, throughput
from benchmarks.options import Options, parse
from benchmarks.results import Report, save, say, show


def w1(options: Options) -> Report:
    return throughput.measure(options, throughput.W1)


def w2(options: Options) -> Report:
    return throughput.measure(options, throughput.W2)


BENCHMARKS = {
    "w1": w1,
    "w2": w2,
    "idle": idle.measure,
    "committer": committer.measure,
    "scale": scale.measure,
    **dict.fromkeys(sdk.WORKLOADS, sdk.measure),
    "sdk-replay": replay.measure_replay,
    "sdk-memory": replay.measure_memory,
}


def main(arguments: list[str]) -> int:
    options = parse(arguments, sorted(BENCHMARKS), __doc__ or "")
    report = BENCHMARKS[options.name](options)
    show(report)
    say(f"written to {save(report)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
