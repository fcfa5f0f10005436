-- name: started
-- The process of an attempt; an old fence changes nothing.
UPDATE runs SET pid = ?, pid_start = ?, runner = ?, started_ms = ? WHERE id = ? AND fence = ? AND state = 'running';

-- name: running
-- Every claimed run.
SELECT id, fence, attempt, job_id, boot_id, pid, pid_start, claimed_ms, started_ms, stop_wanted
FROM runs INDEXED BY runs_gate WHERE gate IS NOT NULL AND state = 'running' ORDER BY id;

-- name: claimed
-- These runs, with what giving them back or ending them needs.
SELECT r.id, r.fence, r.state, r.attempt, r.job_id, r.owner_id, r.key, r.due_ms, r.started_ms, r.trigger,
       r.by_hand, r.replays, r.returns, r.batch, r.probe, r.stop_wanted, r.stop_by, j.name, j.policies, j.one_shot, j.hidden,
       j.suspended, j.deleted_ms
FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id;

-- name: efforts
-- What the retry rule must know of running attempts.
SELECT r.id, r.fence, j.uid || '/' || r.key, r.attempt, r.failures, r.losses, r.probe, j.policies, r.stop_by
FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'running';

-- name: give_back
-- Running → ready: the attempt is not counted, the fence stays raised. A retry keeps its gate while it is held.
UPDATE runs SET state = CASE WHEN :held THEN 'scheduled' ELSE 'ready' END, held = :held,
                gate = CASE WHEN :held AND attempt = 1 THEN NULL ELSE job_id END,
                due_ms = :due_ms, attempt = attempt - 1, returns = returns + :counted, node = NULL, boot_id = NULL,
                runner = NULL, pid = NULL, pid_start = NULL, claimed_ms = NULL, started_ms = NULL
WHERE id = :run_id AND fence = :fence AND state = 'running';
