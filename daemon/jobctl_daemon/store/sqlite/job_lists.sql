-- name: one
-- A job as it is shown.
SELECT * FROM job_facts WHERE id = ?;

-- name: spec
-- A job's definition.
SELECT j.name, coalesce(v.schedule, ''), coalesce(v.execution, ''), j.policies, j.queue, j.priority, j.source, j.paused, j.hidden,
       j.declared
FROM jobs j LEFT JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version WHERE j.id = ?;

-- name: of_owner
-- An owner's jobs after a place, in order of name. The one word of a job hides what else holds of it: who asks for
-- failing, paused, running or parked jobs means all of them.
SELECT * FROM job_facts
WHERE owner_id = :owner_id AND deleted_ms IS NULL AND hidden = 0 AND name >= :name AND (name, id) > (:name, :id)
  AND (:done = 1 OR done = 0
       OR (:failed = 1 AND EXISTS (SELECT 1 FROM last_runs l WHERE l.job_id = job_facts.id AND l.failing = 1)))
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states))
       OR (:failed = 1 AND EXISTS (SELECT 1 FROM last_runs l WHERE l.job_id = job_facts.id AND l.failing = 1))
       OR (:paused = 1 AND (paused = 1 OR suspended_by IS NOT NULL))
       OR (:running = 1 AND running > 0)
       OR (:parked = 1 AND error IS NOT NULL))
  AND (:queue IS NULL OR queue = :queue)
  AND (:source IS NULL OR source = :source)
  AND (:declared IS NULL OR declared = :declared)
  AND (:owner IS NULL OR owner = :owner)
  AND {asked}
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(policies, '$.tags') WHERE value = :tag))
ORDER BY name, id LIMIT :limit;

-- name: of_all
-- The same, of everybody.
SELECT * FROM job_facts
WHERE deleted_ms IS NULL AND hidden = 0 AND (name, id) > (:name, :id)
  AND (:done = 1 OR done = 0
       OR (:failed = 1 AND EXISTS (SELECT 1 FROM last_runs l WHERE l.job_id = job_facts.id AND l.failing = 1)))
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states))
       OR (:failed = 1 AND EXISTS (SELECT 1 FROM last_runs l WHERE l.job_id = job_facts.id AND l.failing = 1))
       OR (:paused = 1 AND (paused = 1 OR suspended_by IS NOT NULL))
       OR (:running = 1 AND running > 0)
       OR (:parked = 1 AND error IS NOT NULL))
  AND (:queue IS NULL OR queue = :queue)
  AND (:source IS NULL OR source = :source)
  AND (:declared IS NULL OR declared = :declared)
  AND (:owner IS NULL OR owner = :owner)
  AND {asked}
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(policies, '$.tags') WHERE value = :tag))
ORDER BY name, id LIMIT :limit;
