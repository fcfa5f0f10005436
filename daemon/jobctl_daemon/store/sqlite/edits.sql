-- name: rev
-- What an edit must match.
SELECT rev, version, done FROM jobs WHERE id = ?;

-- name: put
-- The job as it is from now on.
UPDATE jobs SET name = :name, policies = :policies, queue = :queue, priority = :priority, told = :told,
                source = coalesce(:source, source),
                starts_kind = :starts_kind, one_shot = max(hidden, :one_shot), done = CASE WHEN :aimed THEN 0 ELSE done END,
                version = :version, rev = rev + 1
WHERE id = :job_id;

-- name: revision
-- The cursor from which an aim was decided.
SELECT revision FROM cursors WHERE job_id = ?;

-- name: unstarted
-- Occurrences that have not begun and that nobody asked for.
SELECT id FROM runs
WHERE job_id = ? AND (state = 'scheduled' OR state = 'ready') AND attempt = 0 AND by_hand = 0 ORDER BY id;

-- name: take_version
-- What has not begun runs the new command; a retry and a replay keep theirs.
UPDATE runs SET version = :version
WHERE job_id = :job_id AND (state = 'scheduled' OR state = 'ready') AND attempt = 0 AND replays = 0;

-- name: take_policies
-- Queue, priority and the window to start hold for everything that is not running.
UPDATE runs SET queue = :queue, priority = :priority,
                start_by_ms = CASE WHEN start_by_ms IS NOT NULL THEN due_ms + :within_ms END
WHERE job_id = :job_id AND (state = 'scheduled' OR state = 'ready');

-- name: put_cursor
-- Where the new schedule stands: everything up to now, or to what stays left out, is accounted for.
INSERT INTO cursors (job_id, next_nominal, handled_ms, skip_until, revision)
VALUES (:job_id, :next_ms, :handled_ms, :skip_until_ms, 1)
ON CONFLICT (job_id) DO UPDATE SET next_nominal = excluded.next_nominal,
    handled_ms = excluded.handled_ms, skip_until = excluded.skip_until, revision = revision + 1, error = NULL;

-- name: rest_cursor
-- The job has no schedule any more. Its cursor stays: a revision that was seen once must never come again.
UPDATE cursors SET next_nominal = NULL, handled_ms = :handled_ms, skip_until = :skip_until_ms, revision = revision + 1,
                   error = NULL
WHERE job_id = :job_id;

-- name: skip
-- Occurrences to come are left out. While something holds the job, what it misses goes on being counted.
UPDATE cursors SET next_nominal = CASE WHEN :held THEN NULL ELSE :next_ms END,
                   handled_ms = CASE WHEN :held THEN handled_ms ELSE :until_ms END, skip_until = :until_ms,
                   revision = revision + 1
WHERE job_id = :job_id AND revision = :revision AND error IS NULL AND (:held OR next_nominal IS NOT NULL);

-- name: unskip
-- They are not, after all.
UPDATE cursors SET next_nominal = CASE WHEN :held THEN NULL ELSE :next_ms END, handled_ms = :handled_ms,
                   skip_until = NULL, revision = revision + 1
WHERE job_id = :job_id AND revision = :revision AND error IS NULL;

-- name: wake
-- A one-shot that was done because its time was left out has a time again.
UPDATE jobs SET done = 0, rev = rev + 1 WHERE id = ? AND done = 1;
