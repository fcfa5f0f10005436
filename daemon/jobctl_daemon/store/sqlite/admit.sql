-- name: pending
-- Runs whose time has come, and what of their job is active.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies,
       (SELECT g.id FROM runs g WHERE g.gate = r.job_id AND g.gate IS NOT NULL LIMIT 1)
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' AND r.held = 0 AND r.due_ms <= ?
ORDER BY r.due_ms, r.id LIMIT ?;

-- name: too_late_pending
-- Due runs whose last instant to start has passed. Nothing is too late before it is due.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies,
       (SELECT g.id FROM runs g WHERE g.gate = r.job_id AND g.gate IS NOT NULL LIMIT 1)
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' AND r.held = 0 AND r.due_ms <= :now_ms AND r.start_by_ms < :now_ms
ORDER BY r.due_ms, r.id LIMIT :limit;

-- name: too_late_ready
-- The same of admitted runs that found no slot in time.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies,
       (SELECT g.id FROM runs g WHERE g.gate = r.job_id AND g.gate IS NOT NULL AND g.id <> r.id LIMIT 1)
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'ready' AND r.start_by_ms IS NOT NULL AND r.start_by_ms < :now_ms
ORDER BY r.start_by_ms LIMIT :limit;

-- name: make_ready
-- The state is rechecked: what was held or cancelled meanwhile stays as it is.
UPDATE runs SET state = 'ready', gate = job_id
WHERE id IN (SELECT value FROM json_each(?)) AND state = 'scheduled' AND held = 0
RETURNING id, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id);
