"""Every bound of the engine, each with its reason."""

from assay.model.time import MICROS

# One batch: enough that a commit's fixed cost vanishes, few enough to take milliseconds.
OPERATIONS_PER_BATCH = 512

# Open runs kept at hand; at about 1 KB with an activity this is some 100 MB at the most.
CACHED_RUNS = 100_000

# Ready tasks of one queue remembered; the rest is read again when these are handed out.
WINDOW_TASKS = 2_000

# Numbers reserved at once: one small statement per so many new rows.
NUMBERS_PER_BLOCK = 100_000

# Deadlines further away than this are left to the sweep, so that parked timers cost no memory.
HORIZON = 3 * MICROS

# How often the store is asked for what no hint told: the safety net of every dispatch.
SWEEP_EVERY = 1 * MICROS

# Claims that end sooner are told to other instances when they are made: of those that end later
# others learn in time, once they notice that their instance is gone.
TOLD_CLAIM = 6 * MICROS

# Deadlines decided in one batch; more due at once follow in the next one.
DEADLINES_PER_BATCH = 512

# A batch whose guards fail this often is halved; alone, an operation then locks its rows.
CONFLICTS_BEFORE_SPLIT = 2
CONFLICTS_BEFORE_LOCK = 4
CONFLICTS_BEFORE_GIVING_UP = 40

# Batch rows kept behind the newest: an unknown outcome is asked for at once, so few are enough.
BATCH_ROWS_KEPT = 1_000
BATCHES_BETWEEN_PRUNES = 1_000

# How often one batch may ask for further rows: a cascade asks once a level, anything else twice.
PASSES_PER_BATCH = 200

# A deadline whose batch failed is tried again so much later: the database may need the time.
RETRY_DUE_AFTER = MICROS // 2

# A database that has just failed is left alone so long, whoever waits; each time twice as long.
BREATH = MICROS // 20
BREATH_LONGEST = 1 * MICROS

# Queues remembered at once; beyond that only those stay that somebody waits on.
WINDOWS_KEPT = 10_000

# The default lease on a workflow task (contract §10.2).
LEASE_SECS = 30.0

# How long the outcome of a commit with a lost connection is asked for before callers are told 500.
SETTLE_SECS = 10.0

# How long events stay in the stream, and how many at the most (contract §14).
STREAM_KEPT = 3 * 24 * 3600 * MICROS
STREAM_MOST = 10_000_000

# How often the stream is pruned, and how long commits have the store to themselves in between the
# steps of a pass.
PRUNE_EVERY = 3600 * MICROS
PRUNE_PAUSE_SECS = 0.01

# When the pass of a chore that failed is tried again.
CHORE_RETRY = 60 * MICROS

# Frames kept in memory for all who listen to the stream: who is further behind is too slow. At
# about 1 KB each, written and unwritten, these are 10 MB.
FRAMES_KEPT = 10_000

# Frames read at once: a few milliseconds of work.
FRAMES_PER_PAGE = 500

# Different texts of one page that are remembered: most who listen want the same.
TEXTS_PER_PAGE = 8

# How long all wait for the slowest, in all, before it is cut off.
PATIENCE_SECS = 1.0

# Under load, frames of so many seconds are read and sent together.
STREAM_PACE_SECS = 0.01

# A stream that could not be read is tried again so much later.
STREAM_RETRY_SECS = 1.0

# How long a session nobody comes back to is kept: long enough for a connection that was lost.
SESSION_KEPT_SECS = 15.0

# A worker that was silent for so long leaves lists and counts (contract §10.3).
WORKER_SILENT_AFTER = 90 * MICROS

# How long a silent worker's id stays bound to its namespace: any sign of life restores it.
WORKERS_KEPT_FOR = 7 * 24 * 3600 * MICROS

# How often those ids are looked for that need not be bound any longer: to be late is no harm.
WORKERS_FORGOTTEN_EVERY = 3600 * MICROS

# Worker ids remembered with what they are bound to; at some 200 bytes these are 10 MB.
WORKERS_KNOWN = 50_000
