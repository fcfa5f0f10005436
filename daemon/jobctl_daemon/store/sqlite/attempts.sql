-- name: started
-- The process of an attempt; an old fence changes nothing.
UPDATE runs SET started_ms = ? WHERE id = ? AND fence = ? AND state = 'running';

-- name: identify
-- The identity of an attempt's process.
UPDATE attempts SET pid = ?, pid_start = ?, runner = ?, started_ms = ?
WHERE run_id = ? AND fence = ? AND ended_ms IS NULL
  AND attempt = (SELECT attempt FROM runs WHERE id = ? AND fence = ? AND state = 'running');

-- name: running
-- Every claimed run.
SELECT r.id, r.fence, r.attempt, r.job_id, a.boot_id, a.pid, a.pid_start, r.claimed_ms, r.started_ms, r.stop_wanted
FROM runs r JOIN attempts a ON a.run_id = r.id AND a.attempt = r.attempt
WHERE r.state = 'running' ORDER BY r.id;

-- name: claimed
-- These runs, with what giving them back or ending them needs.
SELECT r.id, r.fence, r.state, r.attempt, r.job_id, r.owner_id, r.key, r.due_ms, r.started_ms, r.trigger,
       r.stop_wanted, j.name, j.policies, j.one_shot, j.paused, j.deleted_ms
FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id;

-- name: give_back
-- Running → ready: the attempt is not counted, the fence stays raised.
UPDATE runs SET state = ?, held = ?, due_ms = ?, attempt = attempt - 1, node = NULL, claimed_ms = NULL,
                started_ms = NULL
WHERE id = ? AND fence = ? AND state = 'running';

-- name: forget
-- The row of an attempt that never began.
DELETE FROM attempts WHERE run_id = ? AND attempt = ?;
