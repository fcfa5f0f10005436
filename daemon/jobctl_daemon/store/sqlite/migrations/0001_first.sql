-- The first schema. Times are ms UTC; flags are 0 or 1; what is named *_kind or state is a word of jobctl/states.py.
-- Every id that leaves the store is AUTOINCREMENT: an id is never used again.
-- A list of three or more in IN makes SQLite build a table at each execution; where rows are hot, OR is written.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE migrations (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    checksum TEXT NOT NULL,
    program  TEXT NOT NULL
) STRICT;

CREATE TABLE owners (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    uid  INTEGER NOT NULL UNIQUE,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE jobs (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            TEXT NOT NULL UNIQUE,
    owner_id       INTEGER NOT NULL,
    name           TEXT NOT NULL CHECK (name <> ''),
    queue          TEXT NOT NULL,
    priority       INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    rev            INTEGER NOT NULL,
    source         TEXT NOT NULL,
    starts_kind    TEXT CHECK (starts_kind IN ('boot', 'start')),
    one_shot       INTEGER NOT NULL CHECK (one_shot IN (0, 1)),
    hidden         INTEGER NOT NULL CHECK (hidden IN (0, 1)),
    enabled        INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    done           INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
    paused         INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    paused_by      TEXT,
    paused_since   INTEGER,
    paused_until   INTEGER,
    paused_why     TEXT,
    policies       TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    deleted_ms     INTEGER
) STRICT;

-- A one-shot that is done leaves its name to others.
CREATE UNIQUE INDEX jobs_name_live ON jobs (owner_id, name) WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0;
CREATE INDEX jobs_name ON jobs (owner_id, name, id) WHERE deleted_ms IS NULL AND hidden = 0;
CREATE INDEX jobs_listed ON jobs (name, id) WHERE deleted_ms IS NULL AND hidden = 0;
CREATE INDEX jobs_live ON jobs (owner_id) WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0;
CREATE INDEX jobs_paused ON jobs (owner_id) WHERE deleted_ms IS NULL AND hidden = 0 AND paused = 1;
CREATE INDEX jobs_pause_end ON jobs (paused_until)
    WHERE deleted_ms IS NULL AND paused = 1 AND paused_until IS NOT NULL;
CREATE INDEX jobs_starts ON jobs (starts_kind, id) WHERE starts_kind IS NOT NULL;

-- The newest run of a job that ended, so that no list of jobs looks into history. A narrow row: each run writes it.
CREATE TABLE last_runs (
    job_id      INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL,
    failing     INTEGER NOT NULL CHECK (failing IN (0, 1)),
    state       TEXT NOT NULL,
    finished_ms INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    exit_code   INTEGER,
    signal      INTEGER
) STRICT;

CREATE INDEX last_runs_failing ON last_runs (job_id) WHERE failing = 1;

CREATE TABLE schedule_versions (
    job_id    INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    schedule  TEXT NOT NULL,
    execution TEXT NOT NULL,
    author    TEXT NOT NULL,
    from_ms   INTEGER NOT NULL,
    PRIMARY KEY (job_id, version)
) STRICT;

CREATE TABLE cursors (
    job_id       INTEGER PRIMARY KEY,
    next_nominal INTEGER,
    handled_ms   INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    error        TEXT
) STRICT;

CREATE INDEX cursors_due ON cursors (next_nominal, job_id) WHERE next_nominal IS NOT NULL;
CREATE INDEX cursors_parked ON cursors (job_id) WHERE error IS NOT NULL;

-- The ledger. The instant comes first in the key, so that inserts append.
CREATE TABLE occurrences (
    job_id  INTEGER NOT NULL,
    key     TEXT NOT NULL CHECK (key <> ''),
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    count   INTEGER NOT NULL CHECK (count > 0),
    run_id  INTEGER,
    reason  TEXT,
    detail  TEXT,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (from_ms, job_id, key),
    CHECK (from_ms <= to_ms),
    CHECK (run_id IS NOT NULL OR reason IS NOT NULL)
) STRICT, WITHOUT ROWID;

-- A schedule's key contains its instant; every other key must be unique whatever its instant.
CREATE UNIQUE INDEX occurrences_asked ON occurrences (job_id, key) WHERE substr(key, 1, 2) <> 's:';
CREATE INDEX occurrences_by_hand ON occurrences (from_ms) WHERE substr(key, 1, 2) = 'm:';
CREATE INDEX occurrences_job ON occurrences (job_id, from_ms);
CREATE INDEX occurrences_range ON occurrences (job_id, to_ms) WHERE count > 1;

CREATE TABLE runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id      INTEGER NOT NULL,
    owner_id    INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    slot_ms     INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL,
    start_by_ms INTEGER,
    trigger     TEXT NOT NULL,
    coalesced   INTEGER NOT NULL DEFAULT 0 CHECK (coalesced >= 0),
    note        TEXT,
    priority    INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state = 'scheduled' OR state = 'ready' OR state = 'running'),
    held        INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    -- The job, while the run is active for its overlap policy (ready or running): the index then sleeps at a claim.
    gate        INTEGER,
    fence       INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    -- The attempt that runs now; it gets a row of its own when it ends.
    node        TEXT,
    boot_id     TEXT,
    runner      TEXT,
    pid         INTEGER,
    pid_start   INTEGER,
    claimed_ms  INTEGER,
    started_ms  INTEGER,
    stop_wanted TEXT CHECK (stop_wanted IN ('cancel', 'kill')),
    stop_by     TEXT,
    CHECK (held = 0 OR state = 'scheduled'),
    CHECK ((gate IS NULL) = (state = 'scheduled')),
    CHECK (state <> 'running' OR (fence > 0 AND attempt > 0 AND claimed_ms IS NOT NULL))
) STRICT;

CREATE INDEX runs_pending ON runs (due_ms, id, owner_id) WHERE state = 'scheduled' AND held = 0;
CREATE INDEX runs_held ON runs (job_id, owner_id) WHERE held = 1;
CREATE INDEX runs_ready ON runs (priority, due_ms, id, owner_id) WHERE state = 'ready';
CREATE INDEX runs_start_by ON runs (start_by_ms) WHERE state = 'ready' AND start_by_ms IS NOT NULL;
CREATE INDEX runs_gate ON runs (gate, owner_id) WHERE gate IS NOT NULL;
CREATE INDEX runs_job ON runs (job_id, id);

CREATE TABLE history (
    id            INTEGER PRIMARY KEY,
    job_id        INTEGER NOT NULL,
    owner_id      INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    key           TEXT NOT NULL,
    slot_ms       INTEGER NOT NULL,
    due_ms        INTEGER NOT NULL,
    trigger       TEXT NOT NULL,
    coalesced     INTEGER NOT NULL,
    state         TEXT NOT NULL
                  CHECK (state = 'succeeded' OR state = 'failed' OR state = 'cancelled' OR state = 'skipped'),
    outcome       TEXT NOT NULL,
    failure_class TEXT,
    reason        TEXT,
    fence         INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    node          TEXT,
    started_ms    INTEGER,
    finished_ms   INTEGER NOT NULL,
    exit_code     INTEGER,
    signal        INTEGER,
    late          INTEGER NOT NULL CHECK (late IN (0, 1))
) STRICT;

CREATE INDEX history_job ON history (job_id, id);

-- Efforts that ended.
CREATE TABLE attempts (
    run_id           INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    fence            INTEGER NOT NULL,
    node             TEXT NOT NULL,
    boot_id          TEXT NOT NULL,
    runner           TEXT,
    pid              INTEGER,
    pid_start        INTEGER,
    claimed_ms       INTEGER NOT NULL,
    started_ms       INTEGER,
    ended_ms         INTEGER NOT NULL,
    exit_code        INTEGER,
    signal           INTEGER,
    failure_class    TEXT,
    detail           TEXT,
    cpu_ms           INTEGER,
    max_rss_kb       INTEGER,
    log_size         INTEGER,
    log_dropped_from INTEGER,
    log_dropped_to   INTEGER,
    log_gone         INTEGER NOT NULL DEFAULT 0 CHECK (log_gone IN (0, 1)),
    signals          TEXT,
    left_behind      TEXT,
    PRIMARY KEY (run_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_log ON attempts (run_id, fence, log_size, log_dropped_from, log_dropped_to)
    WHERE log_size > 0 AND log_gone = 0;

CREATE TABLE requests (
    owner_id  INTEGER NOT NULL,
    key       TEXT NOT NULL,
    verb      TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    job_id    INTEGER NOT NULL,
    run_id    INTEGER,
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (owner_id, key, verb)
) STRICT, WITHOUT ROWID;

CREATE INDEX requests_at ON requests (at_ms);
CREATE INDEX requests_job ON requests (job_id);

CREATE TABLE events (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms    INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    owner_id INTEGER NOT NULL,
    job_id   INTEGER,
    run_id   INTEGER,
    data     TEXT NOT NULL
) STRICT;

-- A job as it is shown, with the one word for its state. Columns in the order of facts.JobFacts.
CREATE VIEW job_facts AS
SELECT j.id, j.uid, j.name, o.name AS owner, j.enabled, j.paused, j.paused_by, j.paused_since, j.paused_until,
       j.paused_why, v.schedule, v.execution, j.policies, j.queue, j.priority, j.version, j.rev,
       c.next_nominal, l.run_id AS last_run_id, l.state AS last_state, l.finished_ms AS last_ms,
       l.outcome AS last_outcome, l.exit_code AS last_exit_code, l.signal AS last_signal,
       (SELECT count(*) FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.state = 'running') AS running,
       c.error, j.source, j.created_ms,
       CASE
           WHEN c.error IS NOT NULL THEN 'parked'
           WHEN j.paused = 1 THEN 'paused'
           WHEN EXISTS (SELECT 1 FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.state = 'running')
               THEN 'running'
           WHEN l.failing = 1 THEN 'failed'
           WHEN j.done = 1 THEN 'done'
           ELSE 'ok'
       END AS state,
       j.owner_id, j.done, j.hidden, j.deleted_ms
FROM jobs j
JOIN owners o ON o.id = j.owner_id
JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version
LEFT JOIN cursors c ON c.job_id = j.id
LEFT JOIN last_runs l ON l.job_id = j.id;

-- What the due scan and its kin know of a job. Columns in the order of rows.DueJob, the JSON ones as text.
CREATE VIEW due_jobs AS
SELECT j.id AS job_id, j.uid, j.name, j.version, v.schedule, j.policies, c.next_nominal,
       coalesce(c.handled_ms, j.created_ms) AS handled_ms, coalesce(c.revision, 0) AS revision, j.created_ms,
       j.paused_since, j.owner_id, j.paused, j.paused_until, j.starts_kind, j.deleted_ms
FROM jobs j
JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version
LEFT JOIN cursors c ON c.job_id = j.id;

-- Runs as they are shown, active and finished. Columns in the order of facts.RunFacts.
CREATE VIEW active_facts AS
SELECT r.id, r.key, j.uid AS job_uid, r.job_id, j.name AS job, r.version, r.trigger, r.slot_ms, r.due_ms,
       r.started_ms, NULL AS finished_ms, r.state, NULL AS outcome, NULL AS failure_class,
       CASE WHEN r.held = 1 THEN 'held: its job is paused' ELSE r.note END AS reason,
       r.attempt, r.fence, r.node, NULL AS exit_code, NULL AS signal, NULL AS late, r.coalesced, j.policies, r.owner_id
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id;

CREATE VIEW finished_facts AS
SELECT h.id, h.key, j.uid AS job_uid, h.job_id, j.name AS job, h.version, h.trigger, h.slot_ms, h.due_ms,
       h.started_ms, h.finished_ms, h.state, h.outcome, h.failure_class, h.reason,
       h.attempt, h.fence, h.node, h.exit_code, h.signal, h.late, h.coalesced, j.policies, h.owner_id
FROM history h CROSS JOIN jobs j ON j.id = h.job_id;
