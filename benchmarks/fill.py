"""Fills a store with runs as if it had been in use for long: by bulk statements, both stores alike.

Of a thousand runs some 905 are completed, 50 failed, 10 cancelled, 30 running and 5 pending; the
running ones hold a live activity. Every run has one activity, three events and five search
attributes: one that all share, a tenant of a thousand, a region of five, an age that halves them,
and a colour that only the younger half has. A few old runs are the needles: their type, worker and
attribute are nobody else's.
"""

import sqlite3
import time

import asyncpg

from assay.model.time import MICROS
from assay.store.open import file_path, open_store
from benchmarks.rig import Store

NUMBERS_PER_RUN = 8
TIES = 20
NEEDLES = 10
CLAIMED_FOR = 365 * 24 * 3600 * MICROS

_RUNS = """
WITH RECURSIVE series (i) AS (
  SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM series WHERE i < {count}
),
named AS (
  SELECT i, i % 1000 AS part, (i / 1000 + i * 7) % 1000 AS tenant,
    i <= {count} / 2 AND i % ({count} / 20) = 7 AS needle,
    i <= {count} / 2 AS old, {now} - ({count} - i) / {ties} * CAST(1000000 AS bigint) AS at
  FROM series
)
INSERT INTO run (no, id, run_id, namespace, type, status, created_at, updated_at, start_at, ver,
  last_seq, top_activity, top_timer, search_attributes, result_seq, completed_at, queue, priority,
  ready_at, attempt, claimed_by, claim_seq)
SELECT i * {step}, 'wf-filled-' || i, 'run-wf-filled-' || i, 'main',
  CASE WHEN needle THEN 'needle' ELSE 'type-' || (i % 10) END,
  CASE WHEN part < 30 THEN 'RUNNING' WHEN part < 35 THEN 'PENDING' WHEN part < 85 THEN 'FAILED'
    WHEN part < 95 THEN 'CANCELLED' ELSE 'COMPLETED' END,
  at, at, at, 3, 3, 1, 0,
  '{{"assay_engine_version":"1.0","tenant":"t' || tenant || '","region":' || (i % 5)
    || ',"age":' || CASE WHEN old THEN '"old"' ELSE '"new","colour":"blue"' END
    || CASE WHEN needle THEN ',"needle":true' ELSE '' END || '}}',
  CASE WHEN part >= 95 THEN 3 END, CASE WHEN part >= 35 THEN at + 60000000 END,
  'queue-' || (i % 50), 0, CASE WHEN part >= 30 AND part < 35 THEN at END, 0,
  CASE WHEN needle THEN 'w-needle' WHEN part < 30 OR part >= 35 THEN 'w-' || (i % 20) END, 1
FROM named
"""
_PARTS = (
    """
INSERT INTO activity (no, run_no, seq, name, status, max_attempts, initial_interval_secs,
  backoff_coefficient, start_to_close_secs, scheduled_seq, wanted_seq, scheduled_at, ver,
  outcome_seq, completed_at, queue, namespace, priority, ready_at, attempt, claim_token,
  claimed_by, claim_until)
SELECT no + 1, no, 1, 'work',
  CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN no / {step} % 2 = 0 THEN 'RUNNING'
    ELSE 'PENDING' END,
  3, 1, 2, 300, 2, 2, created_at, 1, 3, completed_at, queue, namespace, 0,
  CASE WHEN completed_at IS NULL AND no / {step} % 2 = 1 THEN created_at END, 1,
  CASE WHEN completed_at IS NULL AND no / {step} % 2 = 0 THEN no + 2 END,
  CASE WHEN no / {step} % 2 = 0 THEN claimed_by END,
  CASE WHEN completed_at IS NULL AND no / {step} % 2 = 0 THEN {now} + {claimed_for} END
FROM run WHERE status <> 'PENDING'
""",
    """
INSERT INTO event (run_no, seq, id, type, at, payload)
SELECT no, 1, no + 3, 'WorkflowStarted', created_at, '{{"order":' || no || '}}' FROM run
""",
    """
INSERT INTO event (run_no, seq, id, type, at, payload)
SELECT no, 2, no + 4, 'ActivityScheduled', created_at, '{{"activity_id":' || (no + 1)
  || ',"activity_seq":1,"name":"work","task_queue":"' || queue || '","input":null}}' FROM run
""",
    """
INSERT INTO event (run_no, seq, id, type, at, payload)
SELECT no, 3, no + 5, 'WorkflowCompleted', completed_at, '{{"paid":true}}' FROM run
WHERE completed_at IS NOT NULL
""",
    """
INSERT INTO attribute (namespace, key, value, created_at, run_no)
SELECT namespace, 'assay_engine_version', '"1.0"', created_at, no FROM run
""",
    """
INSERT INTO attribute (namespace, key, value, created_at, run_no)
SELECT namespace, 'tenant', '"t' || ((i / 1000 + i * 7) % 1000) || '"', created_at, no
FROM (SELECT namespace, created_at, no, no / {step} AS i FROM run) AS numbered
""",
    """
INSERT INTO attribute (namespace, key, value, created_at, run_no)
SELECT namespace, 'region', CAST(no / {step} % 5 AS TEXT), created_at, no FROM run
""",
    """
INSERT INTO attribute (namespace, key, value, created_at, run_no)
SELECT namespace, 'age', CASE WHEN no <= {count} / 2 * {step} THEN '"old"' ELSE '"new"' END,
  created_at, no FROM run
""",
    """
INSERT INTO attribute (namespace, key, value, created_at, run_no)
SELECT namespace, 'colour', '"blue"', created_at, no FROM run WHERE no > {count} / 2 * {step}
""",
    """
INSERT INTO attribute (namespace, key, value, created_at, run_no)
SELECT namespace, 'needle', 'true', created_at, no FROM run WHERE type = 'needle'
""",
    "DELETE FROM run_count",
    """
INSERT INTO run_count (namespace, status, runs)
SELECT namespace, status, count(*) FROM run GROUP BY namespace, status
""",
    "UPDATE meta SET value = ({count} + 1) * {step} WHERE name = 'numbers'",
)


async def fill(store: Store, count: int) -> None:
    """Make the schema, then so many runs."""
    engine_store = open_store(store.url)
    await engine_store.open()
    await engine_store.close()
    words = {
        "count": count,
        "step": NUMBERS_PER_RUN,
        "ties": TIES,
        "now": time.time_ns() // 1000,
        "claimed_for": CLAIMED_FOR,
    }
    statements = [text.format(**words) for text in (_RUNS, *_PARTS)]
    if store.kind == "postgres":
        await _in_postgres(store.url, statements)
    else:
        _in_sqlite(file_path(store.url.removeprefix("sqlite:")), statements)


async def _in_postgres(url: str, statements: list[str]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
        # What autovacuum would have done long ago.
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def _in_sqlite(path: str, statements: list[str]) -> None:
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    finally:
        connection.close()
