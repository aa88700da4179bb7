"""Every bound of this store, each with its reason."""

from assay.model.time import MICROS

# How long a connection may take to come about: a database that is there answers in milliseconds.
CONNECT_SECS = 5.0

# The longest any statement may take: beyond it the database is as good as gone, and a commit's
# outcome is asked for on a new connection.
STATEMENT_SECS = 30.0

# The same for what may have to read or rebuild whole tables: a migration, or waiting for another
# instance's, and the look for open claims at a start.
LONG_STATEMENT_SECS = 3600.0

# The same for the sweep, which is small: a connection that is dead is to be noticed soon.
SWEEP_SECS = 10.0

# How long a stop waits for the last notification.
LAST_WORDS_SECS = 1.0

# How long a health probe waits.
PROBE_SECS = 2.0

# After a failed attempt to connect: the first and the longest pause before the next one.
RETRY_SECS = 0.05
RETRY_LONGEST_SECS = 1.0

# Connections for reading beside the committer's and the signals' own.
READERS = 4

# And besides for lists that may look at very many runs: nobody else is to wait for those.
FAR_READERS = 2

# How long rows stay locked between a locking load and its commit. Deciding takes microseconds; a
# batch that came to nothing commits nothing, and its locks must not stand in anybody's way.
LOCK_SECS = 0.25

# How often a locking load that met another one head-on is tried again.
DEADLOCKS = 5

# A session that holds row locks and was frozen is cut by the database after this many milliseconds.
FROZEN_MS = 5_000

# Deadlines read at once; more due than that follow in the next sweep.
DEADLINES_AT_ONCE = 10_000

# How long an instance counts as living after it was heard of, which is once a second. One that is
# only slow costs the others a look at all claims, one that is gone keeps its claims so much longer.
ALIVE_FOR = 2 * MICROS + MICROS // 4

# How much later others handle a deadline that is a living instance's share; timers are to fire
# within 50 ms whoever is there, everything else within a second.
COURTESY = MICROS // 2
COURTESY_FOR_TIMERS = MICROS // 50

# Traces of instances not heard of for so long are removed: by then nobody asks for the outcome of
# one of their commits.
FORGET_AFTER = 24 * 3600 * MICROS

# Hints of so many seconds travel in one notification.
HINT_EVERY_SECS = 0.005

# PostgreSQL refuses notifications of 8000 bytes and more; what does not fit just says "look".
HINT_BYTES = 7_000

# Clock measurements to choose the quickest from.
CLOCK_SAMPLES = 8

# Commits of so many seconds are numbered in one pass, for a pass waits for the disk and costs as
# much as a few operations. Where nobody listens, those of more: who does elsewhere hears it soon.
NUMBER_EVERY_SECS = 0.02
NUMBER_UNHEARD_EVERY_SECS = 0.2

# Who finds another session numbering looks again so much later; sooner if somebody waits for it.
TAKEN_SECS = 0.05
TAKEN_WAITED_SECS = 0.005

# Batch rows numbered in one transaction; what waits behind them follows in the next.
NUMBERED_AT_ONCE = 1_000

# How long a new subscriber waits for what was committed before it came to be numbered.
NUMBER_ALL_SECS = 1.0
