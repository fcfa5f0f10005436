-- name: one
-- A job as it is shown.
SELECT * FROM job_facts WHERE id = ?;

-- name: spec
-- A job's definition.
SELECT j.name, coalesce(v.schedule, ''), coalesce(v.execution, ''), j.policies, j.queue, j.priority, j.source, j.paused, j.hidden
FROM jobs j LEFT JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version WHERE j.id = ?;

-- name: of_owner
-- An owner's jobs after a place, in order of name.
SELECT * FROM job_facts
WHERE owner_id = :owner_id AND deleted_ms IS NULL AND hidden = 0 AND name >= :name AND (name, id) > (:name, :id)
  AND (:done = 1 OR done = 0)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND (:queue IS NULL OR queue = :queue)
  AND (:source IS NULL OR source = :source)
  AND (:owner IS NULL OR owner = :owner)
  AND (:q IS NULL OR instr(lower(name), lower(:q)) > 0)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(policies, '$.tags') WHERE value = :tag))
ORDER BY name, id LIMIT :limit;

-- name: of_all
-- The same, of everybody.
SELECT * FROM job_facts
WHERE deleted_ms IS NULL AND hidden = 0 AND (name, id) > (:name, :id)
  AND (:done = 1 OR done = 0)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND (:queue IS NULL OR queue = :queue)
  AND (:source IS NULL OR source = :source)
  AND (:owner IS NULL OR owner = :owner)
  AND (:q IS NULL OR instr(lower(name), lower(:q)) > 0)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(policies, '$.tags') WHERE value = :tag))
ORDER BY name, id LIMIT :limit;
