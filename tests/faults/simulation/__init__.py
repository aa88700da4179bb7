"""A seeded simulator: engines, workers and clients in one thread, over one store, in virtual time.

Every step of every engine, every message and every fault is an event of one schedule, whose order
follows from the seed alone; a run that breaks an invariant is replayed by its seed:

    python -m tests.faults.simulation shared 17

World            everything together; `simulate(seed, mode)` is the way in (`world.py`)
├── Schedule     what happens next (`schedule.py`), noted in a trace with a digest (`trace.py`)
├── Machine      an engine, its database connection and their faults (`machine.py`)
├── Network      calls and polls that get lost, repeated, withdrawn (`network.py`)
├── Worker       replays programs (`programs.py`), works on activities, dies (`workers.py`)
├── Keeper       the same in the SDK's way: exchanges, keeps runs alive (`keepers.py`, `live.py`)
├── Sessions     what a machine knows of those, and what is on its way to them (`sessions.py`)
├── Client       starts, signals, cancels, terminates, retries (`clients.py`)
├── Ledger       what was answered, held against the rows (`ledger.py`)
├── Rows         what may never be in the rows (`invariants.py`), and how they may move (`rows.py`)
└── memory       what an engine remembers against the rows (`memory.py`)
"""
