-- name: of_path
-- Live jobs that a file owns, by id, after an id.
SELECT j.id, o.uid, o.name, j.rev FROM jobs j JOIN owners o ON o.id = j.owner_id
WHERE j.declared = :path AND j.declared IS NOT NULL AND j.deleted_ms IS NULL AND j.id > :after
ORDER BY j.id LIMIT :limit;

-- name: paths
-- The files that own live jobs.
SELECT DISTINCT declared FROM jobs WHERE declared IS NOT NULL AND deleted_ms IS NULL ORDER BY declared;

-- name: owner
-- Whether a live job is the file's.
SELECT id FROM jobs WHERE id = ? AND declared = ? AND deleted_ms IS NULL;

-- name: move
-- The job stands elsewhere in its file. Nothing that it is has changed.
UPDATE jobs SET source = ? WHERE id = ? AND declared = ? AND deleted_ms IS NULL;

-- name: named
-- The job of a file that has this name.
SELECT id FROM jobs WHERE declared = ? AND name = ? AND deleted_ms IS NULL;

-- name: adopt
-- A job that was made by hand, or was another file's, is this file's from now on.
UPDATE jobs SET declared = :path
WHERE id = :job_id AND rev = :rev AND owner_id = :owner_id AND declared IS :was AND deleted_ms IS NULL AND hidden = 0;
