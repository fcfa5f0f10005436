-- name: pending
-- Runs whose time has come.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies, r.by_hand,
       r.attempt > 0 OR r.replays > 0
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' AND r.held = 0 AND r.waits = 0 AND r.due_ms <= ?
ORDER BY r.due_ms, r.id LIMIT ?;

-- name: next_owner
-- The next owner who has a run that waits for its time, due or not: a leap over the index.
SELECT owner_id FROM runs INDEXED BY runs_due_of
WHERE state = 'scheduled' AND held = 0 AND waits = 0 AND owner_id > ? ORDER BY owner_id LIMIT 1;

-- name: due_of
-- An owner's runs whose time has come, oldest first.
SELECT due_ms, id FROM runs INDEXED BY runs_due_of
WHERE state = 'scheduled' AND held = 0 AND waits = 0 AND owner_id = ? AND due_ms <= ?
ORDER BY due_ms, id LIMIT ?;

-- name: chosen
-- These of the runs whose time has come.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies, r.by_hand,
       r.attempt > 0 OR r.replays > 0
FROM json_each(?) ids
CROSS JOIN runs r ON r.id = ids.value
CROSS JOIN jobs j ON j.id = r.job_id;

-- name: too_late_pending
-- Due runs whose last instant to start has passed. Nothing is too late before it is due.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies, r.by_hand,
       r.attempt > 0 OR r.replays > 0
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' AND r.held = 0 AND r.waits = 0 AND r.due_ms <= :now_ms AND r.start_by_ms < :now_ms
ORDER BY r.due_ms, r.id LIMIT :limit;

-- name: too_late_waiting
-- The same of runs that waited for an earlier one of their job.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies, r.by_hand,
       r.attempt > 0 OR r.replays > 0
FROM runs r INDEXED BY runs_waits CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.waits > 0 AND r.start_by_ms < :now_ms
ORDER BY r.due_ms, r.id LIMIT :limit;

-- name: too_late_ready
-- The same of admitted runs that found no slot in time.
SELECT r.id, r.job_id, r.slot_ms, r.due_ms, r.start_by_ms, r.trigger, j.policies, r.by_hand,
       r.attempt > 0 OR r.replays > 0
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'ready' AND r.start_by_ms IS NOT NULL AND r.start_by_ms < :now_ms
ORDER BY r.start_by_ms LIMIT :limit;

-- name: unended
-- Runs of a job that have not ended, as far as it matters how many there are.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE job_id = ? LIMIT ?);

-- name: active_of
-- The runs that hold a job's gate, oldest first.
SELECT id FROM runs WHERE gate = ? AND gate IS NOT NULL ORDER BY id LIMIT ?;

-- name: waiting_of
-- The runs that wait for it, oldest first.
SELECT id FROM runs INDEXED BY runs_waits WHERE job_id = ? AND waits > 0 AND waits = 1 ORDER BY id LIMIT ?;

-- name: make_ready
-- The state is rechecked: what was held or cancelled meanwhile stays as it is.
UPDATE runs SET state = 'ready', gate = job_id, waits = 0
WHERE id IN (SELECT value FROM json_each(?)) AND state = 'scheduled' AND held = 0
RETURNING id, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id);

-- name: make_wait
-- It waits while as many runs of its job hold the gate as may; nobody would wake it when one has left meanwhile.
UPDATE runs SET waits = 1
WHERE id IN (SELECT value FROM json_each(?)) AND state = 'scheduled' AND held = 0 AND waits = 0
  AND (SELECT count(*) FROM runs g WHERE g.gate = runs.job_id AND g.gate IS NOT NULL) >=
      (SELECT coalesce(json_extract(j.policies, '$.limit'),
                       CASE json_extract(j.policies, '$.overlap') WHEN 'allow' THEN 1 << 62 ELSE 1 END)
       FROM jobs j WHERE j.id = runs.job_id)
RETURNING id, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id);

-- name: replace_running
-- An attempt that is to make room for another run.
UPDATE runs SET stop_wanted = coalesce(stop_wanted, 'cancel'), stop_by = coalesce(stop_by, :by)
WHERE id = :run_id AND state = 'running'
RETURNING id, fence;
