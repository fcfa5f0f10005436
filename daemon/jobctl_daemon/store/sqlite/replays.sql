-- name: put
-- A replay, as it was asked for and answered.
INSERT INTO replays (owner_id, at_ms, by, pace_ms, stop_on_failure, to_current, replayed, skipped)
VALUES (:owner_id, :now_ms, :by, :pace_ms, :stop, :current, '[]', '[]');

-- name: answer
-- What came of it.
UPDATE replays SET replayed = ?, skipped = ? WHERE id = ?;

-- name: get
-- A replay of before.
SELECT id, replayed, skipped FROM replays WHERE id = ?;

-- name: pace
-- How a replay goes on.
SELECT pace_ms, stop_on_failure, to_current FROM replays WHERE id = ?;

-- name: failing_again
-- Groups of these dead letters of which two replays have died again, also of letters that are not among them.
SELECT fingerprint, sum(replays) FROM runs INDEXED BY runs_dead
WHERE state = 'dead' AND (:owner_id IS NULL OR owner_id = :owner_id)
  AND fingerprint IN (SELECT fingerprint FROM runs WHERE id IN (SELECT value FROM json_each(:ids)))
GROUP BY fingerprint HAVING sum(replays) >= 2 LIMIT 1;

-- name: state_of
-- What a run is that is no dead letter.
SELECT state, owner_id FROM runs WHERE id = :run_id
UNION ALL
SELECT state, owner_id FROM history WHERE id = :run_id LIMIT 1;

-- name: replay
-- Dead → scheduled: same id, same key, the fence goes on from where it is; the budgets are fresh. What a replay before
-- changed of its work was for that once; a retry by hand was made with the work it has.
UPDATE runs SET state = 'scheduled', due_ms = :due_ms, waits = :waits, by_hand = 1, failures = 0, losses = 0,
                returns = 0, probe = 0, replays = replays + 1, batch = :batch, version = coalesce(:version, version),
                execution = CASE WHEN :execution IS NULL AND :version IS NULL AND retry_of IS NOT NULL THEN execution
                                 ELSE :execution END,
                queue = :queue, priority = :priority, claimed_ms = NULL, put_back_ms = NULL, put_back_by = NULL,
                note = 'replayed by ' || :by
WHERE id = :run_id AND state = 'dead';

-- name: next_of_batch
-- The next run of a replay that goes one after another.
SELECT id, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id) FROM runs INDEXED BY runs_waits
WHERE waits > 0 AND waits = 2 AND batch = ? ORDER BY due_ms, id LIMIT 1;

-- name: its_turn
-- Its turn has come.
UPDATE runs SET waits = 0, due_ms = :due_ms,
                version = CASE WHEN :current THEN (SELECT j.version FROM jobs j WHERE j.id = job_id) ELSE version END,
                execution = CASE WHEN NOT :current THEN execution END
WHERE id = :run_id;

-- name: put_back
-- The rest of a replay that is broken off: dead as before.
UPDATE runs SET state = 'dead', waits = 0, replays = replays - 1, batch = NULL, put_back_ms = :now_ms,
                put_back_by = :run_id
WHERE waits > 0 AND waits = 2 AND batch = :batch
RETURNING id, job_id, owner_id, key, reason, (SELECT name FROM jobs WHERE id = job_id);
