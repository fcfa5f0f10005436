-- name: due
-- Cursors at or before now, after a place in their order. The index's own predicate is repeated, or it is not used.
SELECT d.job_id, d.uid, d.name, d.version, d.schedule, d.policies, d.next_nominal, d.handled_ms, d.revision,
       d.created_ms, d.suspended_since, d.suspended_why, d.resuming, d.quarantined, d.generation,
       d.skip_until, d.left_out
FROM cursors c CROSS JOIN due_jobs d ON d.job_id = c.job_id
WHERE c.next_nominal IS NOT NULL AND c.next_nominal <= :now_ms
  AND (c.next_nominal, c.job_id) > (:after_ms, :after_job)
ORDER BY c.next_nominal, c.job_id LIMIT :limit;

-- name: one
-- The same facts of one job.
SELECT job_id, uid, name, version, schedule, policies, next_nominal, handled_ms, revision, created_ms, suspended_since,
       suspended_why, resuming, quarantined, generation, skip_until, left_out
FROM due_jobs WHERE job_id = ?;

-- name: starts
-- Jobs that start with the boot, or with the daemon.
SELECT job_id, uid, name, version, schedule, policies, next_nominal, handled_ms, revision, created_ms, suspended_since,
       suspended_why, resuming, quarantined, generation, skip_until, left_out
FROM due_jobs WHERE starts_kind = ? AND starts_kind IS NOT NULL AND suspended = 0 AND deleted_ms IS NULL ORDER BY job_id;

-- name: next_cursor
-- The next instant of any cursor after now.
SELECT min(next_nominal) FROM cursors WHERE next_nominal IS NOT NULL AND next_nominal > ?;

-- name: next_pending
-- The next instant of a run that waits for its time.
SELECT min(due_ms) FROM runs WHERE state = 'scheduled' AND held = 0 AND waits = 0 AND due_ms > ?;

-- name: next_pause_end
-- The next instant at which a pause ends.
SELECT min(paused_until) FROM jobs
WHERE deleted_ms IS NULL AND paused = 1 AND paused_until IS NOT NULL AND paused_until > ?;

-- name: next_queue_end
-- The same of queues and the daemon.
SELECT min(paused_until) FROM queues WHERE paused = 1 AND paused_until > ?;

-- name: park_resuming
-- A job that cannot be aimed after its pause is not held by it any more.
UPDATE jobs SET suspended = 0, suspended_since = NULL, suspended_why = NULL, suspended_holder = NULL, resuming = NULL,
                quarantined = 0
WHERE id = ? AND resuming IS NOT NULL;

-- name: release
-- Held runs go on: a retry where it was, what has not begun to its admission.
UPDATE runs SET held = 0, state = CASE WHEN gate IS NULL THEN 'scheduled' ELSE 'ready' END
WHERE job_id = ? AND held = 1
RETURNING id, state;

-- name: park
-- A cursor that cannot be expanded leaves the due index.
UPDATE cursors SET next_nominal = NULL, error = ?, revision = revision + 1 WHERE job_id = ? AND revision = ?;
