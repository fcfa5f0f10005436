-- name: insert
-- A job at version 1.
INSERT INTO jobs (uid, owner_id, name, queue, priority, version, rev, source, starts_kind, one_shot, hidden,
                  paused, paused_by, paused_since, policies, created_ms)
VALUES (:uid, :owner_id, :name, 'default', 0, 1, 1, :source, :starts_kind, :one_shot, :hidden,
        :paused, :paused_by, :paused_since, :policies, :now_ms);

-- name: insert_version
-- What a job runs and when, from now on.
INSERT INTO schedule_versions (job_id, version, schedule, execution, author, from_ms) VALUES (?, ?, ?, ?, ?, ?);

-- name: insert_cursor
-- Where a job's schedule stands.
INSERT INTO cursors (job_id, next_nominal, handled_ms, revision) VALUES (?, ?, ?, 1);

-- name: name_taken
-- The live job that has a name.
SELECT id FROM jobs WHERE owner_id = ? AND name = ? AND deleted_ms IS NULL AND hidden = 0 AND done = 0;

-- name: delete
-- A deleted job keeps its row: history shows its name, and its request key answers "gone".
UPDATE jobs SET deleted_ms = ?, rev = rev + 1 WHERE id = ?;

-- name: delete_cursor
-- Nothing of this job is ever due again.
DELETE FROM cursors WHERE job_id = ?;

-- name: delete_last_run
-- A deleted job is no trouble any more.
DELETE FROM last_runs WHERE job_id = ?;

-- name: unstarted
-- Runs of a job that have not begun.
SELECT id FROM runs WHERE job_id = ? AND state <> 'running' ORDER BY id;

-- name: pause
-- Who, since when, until when, why. A second pause keeps the first one's beginning.
UPDATE jobs SET paused = 1, paused_by = :by, paused_since = coalesce(paused_since, :now_ms),
                paused_until = :until_ms, paused_why = :why, rev = rev + 1
WHERE id = :job_id;

-- name: stop_cursor
-- The cursor leaves the due index, and whoever is expanding it loses.
UPDATE cursors SET next_nominal = NULL, revision = revision + 1 WHERE job_id = ?;

-- name: hold
-- What has not started is held, but for runs that were asked for by hand.
UPDATE runs SET state = 'scheduled', held = 1, gate = NULL
WHERE job_id = ? AND state <> 'running' AND held = 0 AND trigger <> 'manual'
RETURNING id;

-- name: resume
-- No longer paused.
UPDATE jobs SET paused = 0, paused_by = NULL, paused_since = NULL, paused_until = NULL, paused_why = NULL,
                rev = rev + 1
WHERE id = ? AND paused = 1;

-- name: aim_cursor
-- A cursor waits for its next instant again, with everything before `handled` accounted for.
UPDATE cursors SET next_nominal = :next_ms, handled_ms = max(handled_ms, :handled_ms), revision = revision + 1,
                   error = NULL
WHERE job_id = :job_id;

-- name: release
-- Held runs go on waiting for their turn.
UPDATE runs SET held = 0 WHERE job_id = ? AND state = 'scheduled' AND held = 1 RETURNING id;
