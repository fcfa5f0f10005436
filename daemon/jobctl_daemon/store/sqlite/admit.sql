-- name: pending
-- Runs whose time has come, and what of their job is active.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies,
       (SELECT g.id FROM runs g WHERE g.job_id = r.job_id AND g.state IN ('ready', 'running') LIMIT 1)
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' AND r.held = 0 AND r.due_ms <= ?
ORDER BY r.due_ms, r.id LIMIT ?;

-- name: too_late
-- Unstarted runs whose last instant to start has passed.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies,
       (SELECT g.id FROM runs g
        WHERE g.job_id = r.job_id AND g.state IN ('ready', 'running') AND g.id <> r.id LIMIT 1)
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.start_by_ms IS NOT NULL AND r.held = 0 AND r.state IN ('scheduled', 'ready') AND r.start_by_ms < ?
ORDER BY r.start_by_ms, r.id LIMIT ?;

-- name: make_ready
-- The state is rechecked: what was held or cancelled meanwhile stays as it is.
UPDATE runs SET state = 'ready'
WHERE id IN (SELECT value FROM json_each(?)) AND state = 'scheduled' AND held = 0
RETURNING id, job_id, owner_id;

-- name: names
-- The names of the jobs of these runs.
SELECT r.id, j.name FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id;
