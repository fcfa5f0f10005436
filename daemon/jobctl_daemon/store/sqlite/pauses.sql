-- name: pause_job
-- Who, since when, until when, why. A second pause keeps the first one's beginning.
UPDATE jobs SET paused = 1, paused_by = :by, paused_since = coalesce(paused_since, :now_ms), paused_until = :until_ms,
                paused_why = :why, quarantined = :quarantined, rev = rev + 1
WHERE id = :job_id;

-- name: resume_job
-- No longer paused by itself.
UPDATE jobs SET paused = 0, paused_by = NULL, paused_since = NULL, paused_until = NULL, paused_why = NULL, rev = rev + 1
WHERE id = ? AND paused = 1;

-- name: pause_queue
-- The same of a queue, or of the daemon under the name of nothing.
INSERT INTO queues (name, paused, paused_by, paused_since, paused_until, paused_why)
VALUES (:name, 1, :by, :now_ms, :until_ms, :why)
ON CONFLICT (name) DO UPDATE SET paused = 1, paused_by = excluded.paused_by,
    paused_since = coalesce(paused_since, excluded.paused_since), paused_until = excluded.paused_until,
    paused_why = excluded.paused_why;

-- name: resume_queue
-- A queue goes on.
UPDATE queues SET paused = 0, paused_by = NULL, paused_since = NULL, paused_until = NULL, paused_why = NULL
WHERE name = ? AND paused = 1;

-- name: jobs_in_queue
-- The live jobs of a queue.
SELECT id FROM jobs WHERE queue = ? AND deleted_ms IS NULL ORDER BY id;

-- name: all_jobs
-- Every live job.
SELECT id FROM jobs WHERE deleted_ms IS NULL ORDER BY id;

-- name: queue_paused
-- The pause of a queue, or that of the daemon.
SELECT name, paused_by, paused_until, paused_why FROM queues WHERE (name = ? OR name = '') AND paused = 1
ORDER BY name DESC LIMIT 1;

-- name: reword
-- A pause that is changed: what it says of the jobs that it holds.
UPDATE jobs SET suspended_why = :words
WHERE id IN (SELECT value FROM json_each(:ids)) AND suspended = 1 AND suspended_holder = :holder;

-- name: suspend
-- Jobs that nothing held are held from now on.
UPDATE jobs SET suspended = 1, suspended_since = coalesce(suspended_since, :now_ms),
                suspended_why = coalesce(suspended_why, :words),
                suspended_holder = coalesce(suspended_holder, :holder), resuming = NULL
WHERE id IN (SELECT value FROM json_each(:ids)) AND (suspended = 0 OR resuming IS NOT NULL)
RETURNING id;

-- name: stop_cursors
-- Cursors leave the due index, and whoever is expanding them loses.
UPDATE cursors SET next_nominal = NULL, revision = revision + 1
WHERE job_id IN (SELECT value FROM json_each(?)) AND error IS NULL;

-- name: hold
-- What has not started is held, but for runs that were asked for by hand. A retry that waits keeps its gate.
UPDATE runs SET state = 'scheduled', held = 1, waits = 0, gate = CASE WHEN attempt > 0 THEN gate END
WHERE job_id IN (SELECT value FROM json_each(?)) AND (state = 'scheduled' OR state = 'ready') AND held = 0
  AND by_hand = 0
RETURNING id, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id);

-- name: let_go
-- Jobs that no pause holds any more: their schedules are to be aimed again.
UPDATE jobs SET resuming = :how
WHERE id IN (SELECT value FROM json_each(:ids)) AND suspended = 1 AND paused = 0 AND deleted_ms IS NULL
  AND NOT EXISTS (SELECT 1 FROM queues q WHERE (q.name = jobs.queue OR q.name = '') AND q.paused = 1);

-- name: resuming
-- What an aim must match.
SELECT j.id, coalesce(c.revision, 0), j.version, j.owner_id, j.name, j.queue, j.priority
FROM json_each(?) ids CROSS JOIN jobs j ON j.id = ids.value LEFT JOIN cursors c ON c.job_id = j.id
WHERE j.resuming IS NOT NULL AND j.suspended = 1 AND j.deleted_ms IS NULL;

-- name: unsuspend
-- A job goes on.
UPDATE jobs SET suspended = 0, suspended_since = NULL, suspended_why = NULL, suspended_holder = NULL,
                resuming = NULL, quarantined = 0
WHERE id = ?;

-- name: aim_cursor
-- A cursor waits for its next instant again, with everything before `handled` accounted for. One that is done has none.
UPDATE cursors SET next_nominal = CASE WHEN (SELECT done FROM jobs WHERE id = :job_id) = 0 THEN :next_ms END,
                   handled_ms = max(handled_ms, :handled_ms), revision = revision + 1, error = NULL
WHERE job_id = :job_id;

-- name: resumable
-- Jobs that wait to be aimed again.
SELECT job_id, uid, name, version, schedule, policies, next_nominal, handled_ms, revision, created_ms, suspended_since,
       suspended_why, resuming, quarantined, generation, skip_until, left_out
FROM due_jobs WHERE job_id IN (SELECT id FROM jobs WHERE resuming IS NOT NULL ORDER BY id LIMIT ?);

-- name: ended_jobs
-- Jobs whose own pause is over.
SELECT id, name, owner_id FROM jobs
WHERE deleted_ms IS NULL AND paused = 1 AND paused_until IS NOT NULL AND paused_until <= ? ORDER BY paused_until;

-- name: ended_queues
-- Queues whose pause is over.
SELECT name FROM queues WHERE paused = 1 AND paused_until <= ? ORDER BY paused_until;
