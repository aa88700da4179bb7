"""Each example is run as its user would run it, in an empty folder."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.examples.running import EXAMPLES, environment_of_users, said_by
from tests.support.server import Server

HELLO = "Hello, world!\n"
APPROVAL = """\
reminder: Ann waits for 120.00 EUR
stage: nobody has decided
result: 120.00 EUR are paid to Ann
"""
SAGA = """\
ann pays 42.00 EUR at attempt 2
Outcome(status='delivered', parcels=['parcel from shelf-tea', 'parcel from shelf-cup'], why=None)
shelf-boat is free again
Outcome(status='undone', parcels=[], why='9000.00 EUR are too much')
"""
MEASURING = "measuring Ulm\nmeasuring Bonn\nmeasuring Trier\n"
REPORT = "Ulm: 3\nBonn: 4\nTrier: 5\n"
AGENT = """\
thinking about 0 notes
thinking about 2 notes
thinking about 4 notes
thinking about 6 notes
Why? Because of FACT 6.
"""
TOLD_HERE = {
    "hello",
    "approval",
    "order_saga",
    "blocking_script",
    "agent_loop",
    "server_and_worker",
}


def test_every_example_is_run_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == TOLD_HERE


def test_hello_says_hello(tmp_path: Path) -> None:
    assert said_by(EXAMPLES / "hello.py", folder=tmp_path) == HELLO


def test_an_expense_is_approved_after_a_reminder_or_two(tmp_path: Path) -> None:
    lines = said_by(EXAMPLES / "approval.py", folder=tmp_path).splitlines()
    assert list(dict.fromkeys(lines)) == APPROVAL.splitlines()


def test_an_agent_goes_on_as_a_new_run(tmp_path: Path) -> None:
    assert said_by(EXAMPLES / "agent_loop.py", folder=tmp_path) == AGENT


def test_an_order_is_delivered_and_another_undone(tmp_path: Path) -> None:
    *lines, listed = said_by(EXAMPLES / "order_saga.py", folder=tmp_path).splitlines()
    assert lines == SAGA.splitlines()
    assert listed.split()[1:] == ["COMPLETED"]


def test_a_script_that_is_run_again_does_nothing_twice(tmp_path: Path) -> None:
    script = EXAMPLES / "blocking_script.py"
    assert said_by(script, folder=tmp_path) == MEASURING + REPORT
    assert said_by(script, folder=tmp_path) == REPORT


def test_a_worker_welcomes_once_whom_programs_ask_it_to(tmp_path: Path) -> None:
    program = EXAMPLES / "server_and_worker.py"
    server = Server(f"sqlite://{tmp_path}/served.db", tmp_path / "server.log")
    with server.running():
        url = {"ASSAY_URL": f"http://{server.host}:{server.port}"}
        worker = subprocess.Popen(
            [sys.executable, program, "work"],
            env=environment_of_users(url),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            asked = [
                said_by(program, "welcome", "Ann", folder=tmp_path, environment=url) for _ in "12"
            ]
        finally:
            worker.send_signal(signal.SIGTERM)
            sent, _ = worker.communicate(timeout=15)
    assert asked == ["[\"sent 'Welcome, Ann!'\", \"sent 'How is it going, Ann?'\"]\n"] * 2
    assert sent.splitlines() == [
        "sending 'Welcome, Ann!', attempt 1",
        "sending 'How is it going, Ann?', attempt 1",
    ]
    assert worker.returncode == 0


def test_an_example_says_how_it_is_used(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "server_and_worker.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "server_and_worker.py work" in done.stderr
