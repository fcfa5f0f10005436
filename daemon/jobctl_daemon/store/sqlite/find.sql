-- name: job_by_name
-- The live job of an owner with this name.
SELECT id FROM jobs WHERE owner_id = ? AND name = ? AND deleted_ms IS NULL AND hidden = 0 AND done = 0;

-- name: done_by_name
-- The newest one-shot of an owner with this name that is done.
SELECT max(id) FROM jobs WHERE owner_id = ? AND name = ? AND deleted_ms IS NULL AND hidden = 0;

-- name: jobs_by_name
-- Live jobs of all owners with this name; two are enough to know that it is not unique.
SELECT id FROM jobs WHERE name = ? AND deleted_ms IS NULL AND hidden = 0 AND done = 0 ORDER BY id LIMIT 2;

-- name: done_by_name_of_all
-- The newest one-shot of any owner with this name that is done.
SELECT max(id) FROM jobs WHERE name = ? AND deleted_ms IS NULL AND hidden = 0;

-- name: job_by_id
-- A live job, with its owner.
SELECT id, owner_id FROM jobs WHERE id = ? AND deleted_ms IS NULL;

-- name: jobs_by_uid
-- Live jobs whose uid begins so, of one owner or of all; two are enough to know that it is not unique.
SELECT id FROM jobs WHERE uid >= :first AND uid < :beyond AND deleted_ms IS NULL
  AND (:owner_id IS NULL OR owner_id = :owner_id) ORDER BY uid LIMIT 2;

-- name: names
-- Names to compare with one that is not there.
SELECT name FROM jobs WHERE owner_id = ? AND deleted_ms IS NULL AND hidden = 0 LIMIT ?;

-- name: names_of_all
-- The same, of all owners.
SELECT name FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 LIMIT ?;
