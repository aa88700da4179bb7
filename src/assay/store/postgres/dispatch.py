"""Statements of this store alone: what is ready, what is due, who lives, which commits are in."""

READY = """
SELECT look.at, (SELECT assay_now()) AS now, found.no, found.ready_at, found.namespace, found.queue
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS look (kind, namespace, queue, at)
CROSS JOIN LATERAL (
  (SELECT no, ready_at, namespace, queue FROM run
   WHERE look.kind = 'workflow' AND queue = look.queue AND ready_at IS NOT NULL
     AND claim_until IS NULL AND (look.namespace IS NULL OR namespace = look.namespace)
   ORDER BY ready_at, no LIMIT $4)
  UNION ALL
  (SELECT no, ready_at, namespace, queue FROM activity
   WHERE look.kind = 'activity' AND queue = look.queue AND ready_at IS NOT NULL
     AND (look.namespace IS NULL OR namespace = look.namespace)
   ORDER BY ready_at, no LIMIT $4)
) AS found
ORDER BY look.at, found.ready_at, found.no
"""

# Once a second: renew this instance's row, tell the time, say who lives, read what is due.
SWEEP = """
WITH clock AS MATERIALIZED (SELECT assay_now() AS now),
renewed AS (
  INSERT INTO instance (no, alive_until) SELECT $1, now + $2 FROM clock
  ON CONFLICT (no) DO UPDATE SET alive_until = excluded.alive_until
),
due AS MATERIALIZED (
  SELECT fire_at, no FROM timer WHERE state = 'open' AND fire_at <= $3 ORDER BY fire_at, no LIMIT $4
)
SELECT assay_now() AS now,
  ARRAY(SELECT no FROM instance, clock WHERE alive_until > now ORDER BY no) AS living,
  ARRAY(SELECT fire_at FROM due ORDER BY fire_at, no) AS ats,
  ARRAY(SELECT no FROM due ORDER BY fire_at, no) AS nos
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

PRUNE = "DELETE FROM batch WHERE instance = $1 AND no < $2"
FORGET = """
WITH gone AS (DELETE FROM instance WHERE alive_until < assay_now() - $1)
DELETE FROM batch WHERE at < assay_now() - $1 AND NOT EXISTS
  (SELECT FROM instance WHERE no = batch.instance AND alive_until >= assay_now() - $1)
"""
