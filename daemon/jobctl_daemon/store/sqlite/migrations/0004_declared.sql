-- Jobs that a file declares: its path. A job made by hand has none.
ALTER TABLE jobs ADD COLUMN declared TEXT;

CREATE INDEX jobs_declared ON jobs (declared, id) WHERE deleted_ms IS NULL AND declared IS NOT NULL;

DROP VIEW job_facts;

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
       c.error, j.source, j.declared, j.created_ms,
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
