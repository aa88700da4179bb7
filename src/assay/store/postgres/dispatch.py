"""Statements of this store alone: what is ready, what is due, who lives, which commits are in."""

READY = """
SELECT look.at, (SELECT assay_now()) AS now, found.no, found.ready_at, found.namespace, found.queue,
  found.keeper, found.held
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS look (kind, namespace, queue, at)
CROSS JOIN LATERAL (
  WITH anybodys AS MATERIALIZED (
    SELECT no, ready_at, namespace, queue FROM run
    WHERE look.kind = 'workflow' AND queue = look.queue AND ready_at IS NOT NULL
      AND claim_until IS NULL AND kept_token IS NULL
      AND (look.namespace IS NULL OR namespace = look.namespace)
    ORDER BY ready_at, no LIMIT $4
  )
  SELECT no, ready_at, namespace, queue, NULL AS keeper, FALSE AS held FROM anybodys
  UNION ALL
  (SELECT no, ready_at, namespace, queue, claimed_by, claim_until IS NOT NULL FROM run
   WHERE look.kind = 'workflow' AND queue = look.queue AND kept_token IS NOT NULL
     AND (look.namespace IS NULL OR namespace = look.namespace)
     AND ready_at BETWEEN 0 AND (SELECT CASE WHEN count(*) < $4 THEN 9223372036854775807
                                   ELSE max(ready_at) END FROM anybodys)
   ORDER BY ready_at, no LIMIT $4)
  UNION ALL
  (SELECT no, ready_at, namespace, queue, NULL, FALSE FROM activity
   WHERE look.kind = 'activity' AND queue = look.queue AND ready_at IS NOT NULL
     AND (look.namespace IS NULL OR namespace = look.namespace)
   ORDER BY ready_at, no LIMIT $4)
) AS found
ORDER BY look.at, found.ready_at, found.no
"""

# Once a second: renew this instance's row, tell the time, say who lives, read what is due. A range
# with two ends counts as a narrow one: with one, the planner would rather look at all open runs.
SWEEP = """
WITH clock AS MATERIALIZED (SELECT assay_now() AS now),
renewed AS (
  INSERT INTO instance (no, alive_until) SELECT $1, now + $2 FROM clock
  ON CONFLICT (no) DO UPDATE SET alive_until = excluded.alive_until
),
timers AS MATERIALIZED (
  SELECT fire_at AS at, no FROM timer
  WHERE state = 'open' AND fire_at <= $3 ORDER BY fire_at, no LIMIT $4
),
timeouts AS MATERIALIZED (
  SELECT CASE WHEN cascade IS NULL THEN least(claim_until, timeout_at) ELSE updated_at END AS at, no
  FROM run WHERE completed_at IS NULL AND timeout_at BETWEEN 0 AND $3
  ORDER BY timeout_at, no LIMIT $4
),
schedules AS MATERIALIZED (
  SELECT next_run_at AS at, no FROM schedule
  WHERE NOT paused AND next_run_at <= $3
    AND (SELECT name FROM namespace WHERE name = schedule.namespace) IS NOT NULL
  ORDER BY next_run_at, no LIMIT $4
),
queued AS MATERIALIZED (
  SELECT queued_start AS at, no FROM schedule
  WHERE NOT paused AND queued_start IS NOT NULL
    AND (SELECT name FROM namespace WHERE name = schedule.namespace) IS NOT NULL
    AND NOT EXISTS (SELECT FROM run WHERE run.no = last_run_no AND run.completed_at IS NULL)
  ORDER BY queued_start, no LIMIT $4
),
due AS (
  SELECT at, 'timer' AS kind, no FROM timers
  UNION ALL SELECT at, 'run', no FROM timeouts
  UNION ALL SELECT at, 'schedule', no FROM schedules
  UNION ALL SELECT at, 'schedule', no FROM queued
)
SELECT assay_now() AS now,
  ARRAY(SELECT no FROM instance, clock WHERE alive_until > now ORDER BY no) AS living,
  ARRAY(SELECT at FROM due ORDER BY at, no, kind) AS ats,
  ARRAY(SELECT kind FROM due ORDER BY at, no, kind) AS kinds,
  ARRAY(SELECT no FROM due ORDER BY at, no, kind) AS nos,
  (SELECT value FROM meta WHERE name = 'stream') AS newest,
  EXISTS (SELECT FROM batch WHERE size IS NOT NULL) AS waiting
"""

ENLIST = """
WITH numbered AS (UPDATE meta SET value = value + 1 WHERE name = 'instances' RETURNING value)
INSERT INTO instance (no, alive_until) SELECT value, assay_now() + $1 FROM numbered RETURNING no
"""
LEAVE = "DELETE FROM instance WHERE no = $1"

COUNT_UP = "UPDATE meta SET value = value + $1 WHERE name = 'numbers' RETURNING value"

# A batch that is not in gets an empty row in its place: it can never be in after that.
SETTLE = "INSERT INTO batch (instance, no, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
SETTLED = "SELECT at FROM batch WHERE instance = $1 AND no = $2"

PRUNE = "DELETE FROM batch WHERE instance = $1 AND no < $2 AND size IS NULL"
FORGET = """
WITH gone AS (DELETE FROM instance WHERE alive_until < assay_now() - $1)
DELETE FROM batch WHERE at < assay_now() - $1 AND size IS NULL AND NOT EXISTS
  (SELECT FROM instance WHERE no = batch.instance AND alive_until >= assay_now() - $1)
"""
