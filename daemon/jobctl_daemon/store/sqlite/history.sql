-- name: move
-- A run as it ended; its other columns come from the active row.
INSERT INTO history (id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, fence, attempt, node,
                     replays, retry_of, execution, mail,
                     state, outcome, failure_class, reason, started_ms, finished_ms, exit_code, signal, late, error,
                     fingerprint)
SELECT id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, fence, attempt, node,
       replays, retry_of, execution, substr(key, 1, 5) = 'mail:',
       ?, ?, nullif(?, -4611686018427387904), nullif(?, -4611686018427387904),
       nullif(?, -4611686018427387904), ?, nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), ?,
       nullif(?, -4611686018427387904), nullif(?, -4611686018427387904)
FROM runs WHERE id = ?;

-- name: drop_active
-- The active rows of runs that have moved.
DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?));

-- name: known
-- Which of these runs are finished.
SELECT h.id FROM json_each(?) ids CROSS JOIN history h ON h.id = ids.value;
