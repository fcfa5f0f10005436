-- name: put
-- Makes the owner known.
INSERT INTO owners (uid, name) VALUES (?, ?) ON CONFLICT (uid, name) DO NOTHING;

-- name: id_of
-- The owner that is this account.
SELECT id FROM owners WHERE uid = ? AND name = ?;

-- name: first_two
-- Enough to know whether there are several.
SELECT id FROM owners ORDER BY id LIMIT 2;

-- name: follow
-- The account that runs the daemon has another name than before.
UPDATE OR IGNORE owners SET name = :name WHERE uid = :uid AND name <> :name;

-- name: of_job
-- Whose a job is.
SELECT o.id, o.uid, o.name FROM jobs j JOIN owners o ON o.id = j.owner_id WHERE j.id = ?;

-- name: all
-- Every owner by name, with the number of its live jobs.
SELECT o.uid, o.name,
       (SELECT count(*) FROM jobs j WHERE j.owner_id = o.id AND j.deleted_ms IS NULL AND j.hidden = 0 AND j.done = 0)
FROM owners o ORDER BY o.name, o.uid;

-- name: named
-- The owners of a name; with a uid only the one that has it.
SELECT id, uid FROM owners WHERE name = :name AND (:uid IS NULL OR uid = :uid) ORDER BY uid;

-- name: clashes
-- Names of jobs that both owners have.
SELECT a.name FROM jobs a
JOIN jobs b ON b.owner_id = :from_id AND b.name = a.name AND b.deleted_ms IS NULL AND b.hidden = 0 AND b.done = 0
WHERE a.owner_id = :to_id AND a.deleted_ms IS NULL AND a.hidden = 0 AND a.done = 0 ORDER BY a.name LIMIT 10;

-- name: give_runs
-- What two owners have becomes one's; its runs go by their jobs, which have an index.
UPDATE runs SET owner_id = :to_id WHERE job_id IN (SELECT id FROM jobs WHERE owner_id = :from_id);

-- name: give_history
-- What has ended.
UPDATE history SET owner_id = :to_id WHERE job_id IN (SELECT id FROM jobs WHERE owner_id = :from_id);

-- name: give_jobs
-- The jobs themselves, those that are no more too.
UPDATE jobs SET owner_id = :to_id, rev = rev + 1 WHERE owner_id = :from_id;

-- name: give_requests
-- A key that both have used stays the older owner's.
UPDATE OR IGNORE requests SET owner_id = :to_id WHERE owner_id = :from_id;

-- name: drop_requests
-- Those that both have used.
DELETE FROM requests WHERE owner_id = :from_id;

-- name: give_replays
-- Answers that were given.
UPDATE replays SET owner_id = :to_id WHERE owner_id = :from_id;

-- name: give_events
-- What was told.
UPDATE events SET owner_id = :to_id WHERE owner_id = :from_id;

-- name: drop
-- The owner that has nothing any more.
DELETE FROM owners WHERE id = :from_id;

-- name: rename
-- The account that an owner is from now on.
UPDATE owners SET uid = :uid, name = :name WHERE id = :id;
