-- Retries, dead letters, queues, edits. `runs` and `history` are made again: SQLite cannot change a CHECK in place.

DROP VIEW job_facts;
DROP VIEW due_jobs;
DROP VIEW active_facts;
DROP VIEW finished_facts;

-- Why a job is held: its own pause, its queue's, the daemon's. `suspended` is 1 while any of them holds; `resuming` says
-- that none does any more, and whether the misfire policy is applied to what was missed: the materialiser aims it again.
ALTER TABLE jobs ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1));
ALTER TABLE jobs ADD COLUMN suspended_since INTEGER;
ALTER TABLE jobs ADD COLUMN suspended_why TEXT;
-- Whose pause these words are of: the first that held it.
ALTER TABLE jobs ADD COLUMN suspended_holder TEXT CHECK (suspended_holder IN ('job', 'queue', 'daemon'));
ALTER TABLE jobs ADD COLUMN resuming TEXT CHECK (resuming IN ('plain', 'catch_up'));
ALTER TABLE jobs ADD COLUMN quarantined INTEGER NOT NULL DEFAULT 0 CHECK (quarantined IN (0, 1));
-- Whether somebody is told when its runs die.
ALTER TABLE jobs ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1));
UPDATE jobs SET suspended = paused, suspended_since = paused_since,
                suspended_why = CASE WHEN paused = 1 THEN 'the job was paused' END,
                suspended_holder = CASE WHEN paused = 1 THEN 'job' END;

-- Up to here somebody asked to leave occurrences out.
ALTER TABLE cursors ADD COLUMN skip_until INTEGER;

DROP INDEX jobs_paused;
CREATE INDEX jobs_suspended ON jobs (owner_id, paused, quarantined, resuming)
    WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1;
CREATE INDEX jobs_resuming ON jobs (id) WHERE resuming IS NOT NULL;
CREATE INDEX jobs_queue ON jobs (queue, id) WHERE deleted_ms IS NULL;
CREATE INDEX jobs_untold ON jobs (owner_id) WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND told = 0;

-- A queue that somebody set or paused; the row with no name is the daemon as a whole.
CREATE TABLE queues (
    name         TEXT PRIMARY KEY,
    concurrency  INTEGER CHECK (concurrency > 0),
    paused       INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    paused_by    TEXT,
    paused_since INTEGER,
    paused_until INTEGER,
    paused_why   TEXT
) STRICT, WITHOUT ROWID;

-- Which job starts with the end of another's run.
CREATE TABLE dependents (
    upstream_id INTEGER NOT NULL,
    job_id      INTEGER NOT NULL PRIMARY KEY,
    after_on    TEXT NOT NULL CHECK (after_on IN ('success', 'failure', 'any'))
) STRICT;

CREATE INDEX dependents_upstream ON dependents (upstream_id);

-- What happens to a job again and again: skipped occurrences since the last end, dead letters since the last success.
-- A habit is that it has skipped many in a row, and that no run has succeeded since without a skipped one beside it.
CREATE TABLE streaks (
    job_id INTEGER PRIMARY KEY,
    skips  INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    habit  INTEGER NOT NULL DEFAULT 0 CHECK (habit IN (0, 1))
) STRICT;

-- Every replay, as it was asked for and answered.
CREATE TABLE replays (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id        INTEGER NOT NULL,
    at_ms           INTEGER NOT NULL,
    by              TEXT NOT NULL,
    pace_ms         INTEGER NOT NULL,
    stop_on_failure INTEGER NOT NULL CHECK (stop_on_failure IN (0, 1)),
    -- Each run takes its job's newest version when its turn comes, so that what is put back keeps its own.
    to_current      INTEGER NOT NULL CHECK (to_current IN (0, 1)),
    replayed        TEXT NOT NULL,
    skipped         TEXT NOT NULL
) STRICT;

ALTER TABLE requests ADD COLUMN batch INTEGER;

CREATE TABLE runs_new (
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
    queue       TEXT NOT NULL DEFAULT 'default',
    priority    INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state = 'scheduled' OR state = 'ready' OR state = 'running' OR state = 'dead'),
    held        INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    -- 0: it waits for its time; 1: for a run of its job to end; 2: for its turn in a replay.
    waits       INTEGER NOT NULL DEFAULT 0 CHECK (waits IN (0, 1, 2)),
    -- Asked for by a person: no pause holds it.
    by_hand     INTEGER NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)),
    -- The job, while the run is active for its overlap policy: begun and not ended, a retry that waits or is held too.
    gate        INTEGER,
    fence       INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    -- Since the run began or was replayed: attempts that failed, and attempts whose end nobody saw.
    failures    INTEGER NOT NULL DEFAULT 0,
    losses      INTEGER NOT NULL DEFAULT 0,
    -- Claims that came back because their daemon had died: a run that kills its daemon must end some day.
    returns     INTEGER NOT NULL DEFAULT 0,
    replays     INTEGER NOT NULL DEFAULT 0,
    batch       INTEGER,
    -- Dead again without an attempt: its replay was broken off, when, and by the death of which run.
    put_back_ms INTEGER,
    put_back_by INTEGER,
    retry_of    INTEGER,
    -- The next attempt asks the command of on_lost what became of the run.
    probe       INTEGER NOT NULL DEFAULT 0 CHECK (probe IN (0, 1)),
    -- What this run executes instead of its version's definition.
    execution   TEXT,
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
    -- How the last attempt ended, of a run that waits for a retry or is dead.
    outcome       TEXT,
    failure_class TEXT,
    reason        TEXT,
    exit_code     INTEGER,
    signal        INTEGER,
    ended_ms      INTEGER,
    error         TEXT,
    fingerprint   TEXT,
    CHECK (held = 0 OR state = 'scheduled'),
    CHECK (waits = 0 OR (state = 'scheduled' AND held = 0)),
    CHECK ((gate IS NULL) = (state = 'scheduled' OR state = 'dead') OR (held = 1 AND attempt > 0)),
    CHECK (state <> 'running' OR (fence > 0 AND attempt > 0 AND claimed_ms IS NOT NULL)),
    CHECK (state <> 'dead' OR (ended_ms IS NOT NULL AND outcome IS NOT NULL AND fingerprint IS NOT NULL))
) STRICT;

INSERT INTO runs_new (id, job_id, owner_id, version, key, slot_ms, due_ms, start_by_ms, trigger, coalesced, note,
                      priority, state, held, by_hand, gate, fence, attempt, node, boot_id, runner, pid, pid_start,
                      claimed_ms, started_ms, stop_wanted, stop_by)
SELECT id, job_id, owner_id, version, key, slot_ms, due_ms, start_by_ms, trigger, coalesced, note,
       priority, state, held, trigger = 'manual', gate, fence, attempt, node, boot_id, runner, pid, pid_start,
       claimed_ms, started_ms, stop_wanted, stop_by
FROM runs;
-- The numbers go on where they were, also when there was no row to copy.
DELETE FROM sqlite_sequence WHERE name = 'runs_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'runs_new', seq FROM sqlite_sequence WHERE name = 'runs';
DROP TABLE runs;
ALTER TABLE runs_new RENAME TO runs;

CREATE INDEX runs_pending ON runs (due_ms, id, owner_id) WHERE state = 'scheduled' AND held = 0 AND waits = 0;
CREATE INDEX runs_held ON runs (job_id, owner_id, gate) WHERE held = 1;
CREATE INDEX runs_waits ON runs (job_id, owner_id, batch) WHERE waits > 0;
CREATE INDEX runs_ready ON runs (queue, priority, owner_id, due_ms, id, start_by_ms) WHERE state = 'ready';
-- Counting those of the queue that nearly all are in would cost each claim more than a look through the gates.
CREATE INDEX runs_running ON runs (queue, owner_id) WHERE state = 'running' AND queue <> 'default';
CREATE INDEX runs_start_by ON runs (start_by_ms) WHERE state = 'ready' AND start_by_ms IS NOT NULL;
CREATE INDEX runs_gate ON runs (gate, owner_id) WHERE gate IS NOT NULL;
CREATE INDEX runs_job ON runs (job_id, id);
CREATE INDEX runs_dead ON runs (job_id, id, owner_id, ended_ms) WHERE state = 'dead';
CREATE INDEX runs_died ON runs (ended_ms, id) WHERE state = 'dead';

CREATE TABLE history_new (
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
                  CHECK (state = 'succeeded' OR state = 'failed' OR state = 'cancelled' OR state = 'skipped'
                         OR state = 'superseded' OR state = 'discarded'),
    outcome       TEXT NOT NULL,
    failure_class TEXT,
    reason        TEXT,
    fence         INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    replays       INTEGER NOT NULL DEFAULT 0,
    retry_of      INTEGER,
    execution     TEXT,
    error         TEXT,
    fingerprint   TEXT,
    node          TEXT,
    started_ms    INTEGER,
    finished_ms   INTEGER NOT NULL,
    exit_code     INTEGER,
    signal        INTEGER,
    late          INTEGER NOT NULL CHECK (late IN (0, 1))
) STRICT;

INSERT INTO history_new (id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, state, outcome,
                         failure_class, reason, fence, attempt, node, started_ms, finished_ms, exit_code, signal, late)
SELECT id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, state, outcome,
       failure_class, reason, fence, attempt, node, started_ms, finished_ms, exit_code, signal, late
FROM history;
DROP TABLE history;
ALTER TABLE history_new RENAME TO history;

CREATE INDEX history_job ON history (job_id, id);

-- A job as it is shown, with the one word for its state. Columns in the order of facts.JobFacts. What it refers to and
-- is gone leaves a job that cannot be read, and is shown as such.
CREATE VIEW job_facts AS
SELECT j.id, j.uid, j.name, coalesce(o.name, '?') AS owner, j.enabled, j.paused, j.paused_by, j.paused_since,
       j.paused_until, j.paused_why, j.quarantined, coalesce(v.schedule, '') AS schedule,
       coalesce(v.execution, '') AS execution, j.policies, j.queue, j.priority, j.version, j.rev,
       c.next_nominal, l.run_id AS last_run_id, l.state AS last_state, l.finished_ms AS last_ms,
       l.outcome AS last_outcome, l.exit_code AS last_exit_code, l.signal AS last_signal,
       (SELECT count(*) FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.state = 'running') AS running,
       (SELECT count(*) FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.attempt > 0 AND r.state <> 'running')
           AS retrying,
       (SELECT count(*) FROM runs r WHERE r.job_id = j.id AND r.state = 'dead') AS dead,
       coalesce((SELECT s.skips FROM streaks s WHERE s.job_id = j.id), 0) AS skipping,
       c.error, j.source, j.created_ms,
       CASE
           WHEN c.error IS NOT NULL THEN 'parked'
           WHEN j.paused = 1 OR (j.suspended = 1 AND j.resuming IS NULL) THEN 'paused'
           WHEN EXISTS (SELECT 1 FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.state = 'running')
               THEN 'running'
           WHEN l.failing = 1 THEN 'failed'
           WHEN j.done = 1 THEN 'done'
           ELSE 'ok'
       END AS state,
       CASE
           WHEN j.suspended = 0 OR j.resuming IS NOT NULL THEN NULL
           WHEN j.paused = 1 THEN 'job'
           WHEN q.name IS NOT NULL THEN 'queue'
           ELSE 'daemon'
       END AS suspended_by,
       CASE WHEN j.suspended = 1 AND j.resuming IS NULL THEN j.suspended_since END AS suspended_since,
       -- The last of all ends, where each has one.
       CASE
           WHEN (j.paused = 1 AND j.paused_until IS NULL) OR (q.name IS NOT NULL AND q.paused_until IS NULL)
               OR (d.name IS NOT NULL AND d.paused_until IS NULL) THEN NULL
           ELSE nullif(max(coalesce(j.paused_until, 0), coalesce(q.paused_until, 0), coalesce(d.paused_until, 0)), 0)
       END AS suspended_until,
       CASE WHEN j.paused = 1 THEN j.paused_by WHEN q.name IS NOT NULL THEN q.paused_by ELSE d.paused_by END AS held_by,
       CASE WHEN j.paused = 1 THEN j.paused_why WHEN q.name IS NOT NULL THEN q.paused_why ELSE d.paused_why END
           AS held_why,
       (SELECT u.name || ':' || d.after_on FROM dependents d JOIN jobs u ON u.id = d.upstream_id
        WHERE d.job_id = j.id) AS after,
       j.owner_id, j.done, j.hidden, j.deleted_ms
FROM jobs j
LEFT JOIN owners o ON o.id = j.owner_id
LEFT JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version
LEFT JOIN cursors c ON c.job_id = j.id
LEFT JOIN last_runs l ON l.job_id = j.id
LEFT JOIN queues q ON q.name = j.queue AND q.paused = 1 AND j.suspended = 1 AND j.resuming IS NULL
LEFT JOIN queues d ON d.name = '' AND d.paused = 1 AND j.suspended = 1 AND j.resuming IS NULL;

-- What the due scan and its kin know of a job. Columns in the order of rows.DueJob, the JSON ones as text.
CREATE VIEW due_jobs AS
SELECT j.id AS job_id, j.uid, j.name, j.version, coalesce(v.schedule, '') AS schedule, j.policies, c.next_nominal,
       coalesce(c.handled_ms, j.created_ms) AS handled_ms, coalesce(c.revision, 0) AS revision, j.created_ms,
       j.suspended_since, j.suspended_why, j.resuming, j.quarantined,
       coalesce((SELECT CAST(m.value AS INTEGER) FROM meta m WHERE m.key = 'generation'), 0) AS generation,
       c.skip_until,
       CASE WHEN j.suspended = 1 THEN
           (SELECT json_group_array(json_array(o.from_ms, o.to_ms)) FROM occurrences o
            WHERE o.job_id = j.id AND o.from_ms > c.handled_ms AND o.reason = 'asked')
       END AS left_out,
       j.owner_id, j.suspended, j.starts_kind, j.deleted_ms
FROM jobs j
LEFT JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version
LEFT JOIN cursors c ON c.job_id = j.id;

-- Runs as they are shown, active, dead and finished. Columns in the order of facts.RunFacts.
CREATE VIEW active_facts AS
SELECT r.id, r.key, j.uid AS job_uid, r.job_id, j.name AS job, r.queue, r.version,
       r.execution IS NOT NULL AND r.trigger <> 'notice' AS edited, r.trigger, r.slot_ms, r.due_ms,
       CASE WHEN r.state = 'running' OR r.state = 'dead' THEN r.started_ms END AS started_ms, CASE WHEN r.state = 'dead' THEN r.ended_ms END AS finished_ms, r.state,
       CASE WHEN r.state <> 'running' THEN r.outcome END AS outcome,
       CASE WHEN r.state <> 'running' THEN r.failure_class END AS failure_class,
       CASE
           WHEN r.held = 1 THEN 'held: its job is paused'
           WHEN r.waits = 1 THEN 'waits for an earlier run of its job'
           WHEN r.waits = 2 THEN 'waits for its turn in the replay'
           WHEN r.state <> 'running' AND r.reason IS NOT NULL THEN r.reason
           ELSE r.note
       END AS reason,
       r.attempt,
       -- Attempts outside the budget of retries: those lost, and those before the last replay.
       CASE WHEN r.state = 'dead' THEN 0 ELSE r.attempt - r.failures - (r.state = 'running') END AS spare,
       r.replays, r.put_back_ms, r.put_back_by, r.retry_of, CASE WHEN r.state = 'dead' THEN r.error END AS error,
       CASE WHEN r.state = 'dead' THEN r.fingerprint END AS fingerprint, r.fence, r.node,
       CASE WHEN r.state = 'dead' THEN r.exit_code END AS exit_code, CASE WHEN r.state = 'dead' THEN r.signal END AS signal,
       NULL AS late, r.coalesced, j.policies, r.owner_id
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id;

CREATE VIEW finished_facts AS
SELECT h.id, h.key, j.uid AS job_uid, h.job_id, j.name AS job, j.queue, h.version,
       h.execution IS NOT NULL AND h.trigger <> 'notice' AS edited, h.trigger, h.slot_ms, h.due_ms,
       h.started_ms, h.finished_ms, h.state, h.outcome, h.failure_class, h.reason,
       h.attempt, 0 AS spare, h.replays, NULL AS put_back_ms, NULL AS put_back_by, h.retry_of, h.error, h.fingerprint, h.fence, h.node, h.exit_code, h.signal, h.late,
       h.coalesced, j.policies, h.owner_id
FROM history h CROSS JOIN jobs j ON j.id = h.job_id;
