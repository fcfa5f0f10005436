-- name: insert
-- A job at version 1.
INSERT INTO jobs (uid, owner_id, name, queue, priority, version, rev, source, starts_kind, one_shot, hidden,
                  paused, paused_by, paused_since, suspended, suspended_since, suspended_why,
                  suspended_holder, told, policies, declared, created_ms)
VALUES (:uid, :owner_id, :name, :queue, :priority, 1, 1, :source, :starts_kind, :one_shot, :hidden,
        :paused, :paused_by, :paused_since, :suspended, :suspended_since, :suspended_why,
        :suspended_holder, :told, :policies, :declared, :now_ms);

-- name: insert_cursor
-- Where a job's schedule stands.
INSERT INTO cursors (job_id, next_nominal, handled_ms, revision) VALUES (?, ?, ?, 1);

-- name: name_taken
-- The live job that has a name.
SELECT id FROM jobs WHERE owner_id = ? AND name = ? AND deleted_ms IS NULL AND hidden = 0 AND done = 0;

-- name: delete
-- A deleted job keeps its row: history shows its name, and its request key answers "gone". It waits to be aimed no more.
UPDATE jobs SET deleted_ms = ?, resuming = NULL, rev = rev + 1 WHERE id = ?;

-- name: delete_cursor
-- Nothing of this job is ever due again.
DELETE FROM cursors WHERE job_id = ?;

-- name: delete_last_run
-- A deleted job is no trouble any more.
DELETE FROM last_runs WHERE job_id = ?;

-- name: delete_streak
-- Nor is anything of it in a row.
DELETE FROM streaks WHERE job_id = ?;

-- name: unstarted
-- Runs of a job that have not begun, or wait for a retry.
SELECT id FROM runs WHERE job_id = ? AND (state = 'scheduled' OR state = 'ready') ORDER BY id;
