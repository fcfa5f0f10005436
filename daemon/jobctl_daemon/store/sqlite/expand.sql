-- name: guards
-- What an expansion must match: the cursor's revision and the job's version. Deleted and held jobs are not there.
SELECT j.id, c.revision, j.version, j.owner_id, j.name, j.queue, j.priority
FROM json_each(?) ids CROSS JOIN jobs j ON j.id = ids.value JOIN cursors c ON c.job_id = j.id
WHERE j.deleted_ms IS NULL AND j.suspended = 0;

-- name: advance
-- The cursor's next place, if nobody moved it meanwhile.
UPDATE cursors SET next_nominal = nullif(?, -4611686018427387904), handled_ms = max(handled_ms, ?),
                   skip_until = nullif(?, -4611686018427387904), revision = revision + 1, error = NULL
WHERE job_id = ? AND revision = ?;

-- name: last_run_id
-- The newest id ever given to a run.
SELECT seq FROM sqlite_sequence WHERE name = 'runs';

-- name: ran_before
-- A run of the same instant, whatever its key.
SELECT run_id FROM occurrences WHERE from_ms = ? AND job_id = ? AND run_id IS NOT NULL LIMIT 1;

-- name: insert_run
-- A run that waits for its time, under an id that the ledger names already.
INSERT INTO runs (id, job_id, owner_id, version, key, slot_ms, due_ms, start_by_ms, trigger, coalesced, note, queue,
                  priority, by_hand, retry_of, execution, state)
VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, -4611686018427387904), ?, ?, nullif(?, -4611686018427387904), ?, ?, ?,
        nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), 'scheduled');
