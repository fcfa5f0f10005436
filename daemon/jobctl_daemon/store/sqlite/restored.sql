-- name: life_of_meta
-- What a database noted about itself.
SELECT key, value FROM meta;

-- name: life_of_sequences
-- The highest ids that were ever given out, by table.
SELECT name, seq FROM sqlite_sequence;

-- name: life_of_fences
-- The highest fence that a run has had.
SELECT max(coalesce((SELECT max(fence) FROM runs), 0), coalesce((SELECT max(fence) FROM history), 0));

-- name: raise_sequence
-- Ids go on above those of the life that is replaced.
UPDATE sqlite_sequence SET seq = max(seq, :seq) WHERE name = :name;

-- name: begin_sequence
-- The same for a table that never had a row.
INSERT INTO sqlite_sequence (name, seq)
SELECT :name, :seq WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :name);

-- name: unfinished
-- What has not ended, by id, after an id.
SELECT r.id, r.job_id, r.state, r.attempt, r.fence, r.due_ms, r.waits, r.replays, j.policies
FROM runs r JOIN jobs j ON j.id = r.job_id
WHERE r.id > :after AND r.state <> 'dead' ORDER BY r.id LIMIT :limit;

-- name: cursors
-- Live jobs with a schedule that can be expanded, by id, after an id.
SELECT d.job_id, d.uid, d.name, d.version, d.schedule, d.policies, d.next_nominal, d.handled_ms, d.revision,
       d.created_ms, d.suspended_since, d.suspended_why, d.resuming, d.quarantined, d.generation,
       d.skip_until, d.left_out
FROM cursors c CROSS JOIN due_jobs d ON d.job_id = c.job_id
WHERE c.job_id > :after AND c.error IS NULL AND d.deleted_ms IS NULL
ORDER BY c.job_id LIMIT :limit;

-- name: moving
-- What a move of a cursor must match.
SELECT j.id, c.revision, j.version, j.owner_id, j.name, j.queue, j.priority
FROM json_each(?) ids CROSS JOIN jobs j ON j.id = ids.value JOIN cursors c ON c.job_id = j.id
WHERE j.deleted_ms IS NULL AND c.error IS NULL;

-- name: move_cursor
-- Everything up to `handled` is accounted for. What a pause holds waits for no instant.
UPDATE cursors SET next_nominal = CASE WHEN (SELECT suspended = 0 AND done = 0 FROM jobs WHERE id = :job_id)
                                       THEN :next_ms END,
                   handled_ms = max(handled_ms, :handled_ms), revision = revision + 1
WHERE job_id = :job_id;

-- name: bury
-- What waited for a retry, or for its turn in a replay, waits for a person.
UPDATE runs SET state = 'dead', gate = NULL, held = 0, waits = 0, batch = NULL, probe = 0, put_back_ms = NULL,
                put_back_by = NULL, outcome = 'lost', failure_class = 'lost', reason = :reason,
                ended_ms = coalesce(ended_ms, :now_ms), fingerprint = 'restored'
WHERE id = :run_id AND (state = 'scheduled' OR state = 'ready')
RETURNING id, job_id, owner_id, key, fence, attempt, (SELECT name FROM jobs WHERE id = job_id);

-- name: held_run
-- A run that a runner has an attempt of, as the copy knows it.
SELECT id, state, fence, attempt, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id) FROM runs WHERE id = ?;

-- name: ended_run
-- Whether the copy knows its end.
SELECT 1 FROM history WHERE id = ?;

-- name: job_of_uid
-- The job of a run's key.
SELECT id, version, owner_id, name, queue, priority FROM jobs WHERE uid = ? AND deleted_ms IS NULL;

-- name: take_over
-- The attempt that lives, or has ended and was not recorded, is the run's own again.
UPDATE runs SET state = 'running', gate = job_id, held = 0, waits = 0, fence = :fence, attempt = attempt + 1,
                node = coalesce(node, :node), boot_id = :boot_id, runner = :runner, pid = :pid, pid_start = :pid_start,
                claimed_ms = :claimed_ms, started_ms = :started_ms, probe = 0, put_back_ms = NULL, put_back_by = NULL
WHERE id = :run_id AND state <> 'running';

-- name: invent
-- A run of after the copy, as far as its runner knows it.
INSERT INTO runs (id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, note, queue, priority, state, by_hand,
                  gate, fence, attempt, node, boot_id, runner, pid, pid_start, claimed_ms, started_ms)
VALUES (:run_id, :job_id, :owner_id, :version, :key, :slot_ms, :slot_ms, :trigger, :note, :queue, :priority, 'running',
        :by_hand, :job_id, :fence, 1, :node, :boot_id, :runner, :pid, :pid_start, :claimed_ms, :started_ms);
