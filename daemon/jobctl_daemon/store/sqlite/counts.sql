-- name: jobs
-- Live jobs, and how many of them are held by whatever pause, parked or failing; each from its own small index. Lists
-- of jobs (job_lists) find as many.
SELECT
    (SELECT count(*) FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0),
    (SELECT count(*) FROM jobs INDEXED BY jobs_suspended
     WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1
     AND (paused = 1 OR resuming IS NULL)),
    (SELECT count(*) FROM cursors WHERE error IS NOT NULL),
    (SELECT count(*) FROM last_runs WHERE failing = 1),
    (SELECT count(*) FROM streaks WHERE skips >= :skips),
    (SELECT count(*) FROM jobs INDEXED BY jobs_suspended
     WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1
     AND paused = 1 AND quarantined = 1),
    (SELECT count(*) FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND told = 0);

-- name: jobs_of_owner
-- The same, of one owner.
SELECT
    (SELECT count(*) FROM jobs WHERE owner_id = :owner_id AND deleted_ms IS NULL AND hidden = 0 AND done = 0),
    (SELECT count(*) FROM jobs INDEXED BY jobs_suspended
     WHERE owner_id = :owner_id AND deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1 AND (paused = 1 OR resuming IS NULL)),
    (SELECT count(*) FROM cursors c CROSS JOIN jobs j ON j.id = c.job_id
     WHERE c.error IS NOT NULL AND j.owner_id = :owner_id),
    (SELECT count(*) FROM last_runs l CROSS JOIN jobs j ON j.id = l.job_id
     WHERE l.failing = 1 AND j.owner_id = :owner_id),
    (SELECT count(*) FROM streaks s CROSS JOIN jobs j ON j.id = s.job_id
     WHERE s.skips >= :skips AND j.owner_id = :owner_id),
    (SELECT count(*) FROM jobs INDEXED BY jobs_suspended
     WHERE owner_id = :owner_id AND deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1 AND paused = 1 AND quarantined = 1),
    (SELECT count(*) FROM jobs WHERE owner_id = :owner_id AND deleted_ms IS NULL AND hidden = 0 AND done = 0
     AND told = 0);

-- name: runs
-- Scheduled, held, waiting, ready, with a gate, waiting for a retry, held with a gate, dead, and when the newest died; each counted in its own
-- index. What has a gate and is neither ready nor held is running.
SELECT
    (SELECT count(*) FROM runs INDEXED BY runs_pending WHERE state = 'scheduled' AND held = 0 AND waits = 0
     AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE held = 1 AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE waits > 0 AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE state = 'ready' AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE gate IS NOT NULL AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE state = 'ready' AND due_ms > :now_ms
     AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs INDEXED BY runs_held WHERE held = 1 AND gate IS NOT NULL AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs INDEXED BY runs_dead WHERE state = 'dead' AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT max(ended_ms) FROM runs WHERE state = 'dead' AND (:owner_id IS NULL OR owner_id = :owner_id));

-- name: oldest_pending
-- The oldest run that is due and not admitted.
SELECT due_ms FROM runs
WHERE state = 'scheduled' AND held = 0 AND waits = 0 AND due_ms <= :now_ms
  AND (:owner_id IS NULL OR owner_id = :owner_id)
ORDER BY due_ms, id LIMIT 1;

-- name: next_cursor
-- The next instant of any job.
SELECT next_nominal FROM cursors WHERE next_nominal IS NOT NULL ORDER BY next_nominal, job_id LIMIT 1;

-- name: next_cursor_of_owner
-- The next instant of an owner's jobs: the due index is walked until the first of them.
SELECT c.next_nominal FROM cursors c CROSS JOIN jobs j ON j.id = c.job_id
WHERE c.next_nominal IS NOT NULL AND j.owner_id = ? ORDER BY c.next_nominal, c.job_id LIMIT 1;
