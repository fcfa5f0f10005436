-- name: newest_event
-- When the newest event was written.
SELECT (SELECT at_ms FROM events ORDER BY id DESC LIMIT 1);

-- name: shift_due
-- What was due, what has been started before, what its schedule asked for, and what was put off for a while: all of it
-- keeps its place before or after the present moment.
UPDATE runs SET due_ms = due_ms - :by_ms
WHERE (state = 'scheduled' OR state = 'ready')
  AND (due_ms <= :from_ms + :put_off_ms OR fence > 0 OR trigger <> 'manual');

-- name: shift_window
-- The last instant to start goes with the clock.
UPDATE runs SET start_by_ms = start_by_ms - :by_ms
WHERE (state = 'scheduled' OR state = 'ready') AND start_by_ms IS NOT NULL;

-- name: ahead
-- Cursors beyond now that can be expanded, in order of their jobs.
SELECT d.job_id, d.uid, d.name, d.version, d.schedule, d.policies, d.next_nominal, d.handled_ms, d.revision,
       d.created_ms, d.suspended_since, d.suspended_why, d.resuming, d.quarantined, d.generation,
       d.skip_until, d.left_out
FROM cursors c CROSS JOIN due_jobs d ON d.job_id = c.job_id
WHERE c.job_id > :after AND c.handled_ms > :now_ms AND c.error IS NULL
ORDER BY c.job_id LIMIT :limit;

-- name: end_skips
-- What was left out before a step back is not left out again.
UPDATE cursors SET skip_until = NULL WHERE skip_until <= ?;

-- name: aim
-- A cursor's place, earlier or later, if nobody moved it meanwhile.
UPDATE cursors SET next_nominal = ?, handled_ms = ?, skip_until = ?, revision = revision + 1
WHERE job_id = ? AND revision = ? AND error IS NULL;

-- name: began
-- When a job's schedule began: the time, and the generation of the clock. An edit of something else begins none.
SELECT v.from_ms, v.generation
FROM jobs j
JOIN schedule_versions p ON p.job_id = j.id AND p.version = j.version
JOIN schedule_versions v ON v.job_id = j.id AND v.version > coalesce(
    (SELECT max(o.version) FROM schedule_versions o WHERE o.job_id = j.id AND o.schedule <> p.schedule), 0)
WHERE j.id = ? ORDER BY v.version LIMIT 1;

-- name: covered
-- The newest row of the schedule up to now, single or a range; what somebody asked to skip. Rows that a wrong clock made
-- in times to come are none, and neither is what was written before the schedule began. A key that has more numbers
-- than its instants ends with the generation of the clock.
SELECT nullif(max(
    coalesce((SELECT o.to_ms FROM occurrences o
              WHERE o.job_id = :job_id AND o.from_ms > :after_ms AND o.from_ms <= :now_ms AND o.to_ms <= :now_ms
                AND (substr(o.key, 1, 2) = 's:' OR substr(o.key, 1, 2) = 'r:')
                AND (iif(length(o.key) - length(replace(o.key, ':', '')) > iif(substr(o.key, 1, 2) IN ('r:', 'u:'), 2, 1),
                         CAST(substr(o.key, length(rtrim(o.key, '0123456789')) + 1) AS INTEGER), 0), o.at_ms)
                    >= (:generation, :began_ms)
              ORDER BY o.from_ms DESC LIMIT 1), -4611686018427387904),
    coalesce((SELECT max(o.to_ms) FROM occurrences o
              WHERE o.job_id = :job_id AND o.count > 1 AND o.to_ms > :after_ms AND o.to_ms <= :now_ms
                AND (iif(length(o.key) - length(replace(o.key, ':', '')) > iif(substr(o.key, 1, 2) IN ('r:', 'u:'), 2, 1),
                         CAST(substr(o.key, length(rtrim(o.key, '0123456789')) + 1) AS INTEGER), 0), o.at_ms)
                    >= (:generation, :began_ms)), -4611686018427387904),
    coalesce((SELECT max(o.to_ms) FROM occurrences o
              WHERE o.job_id = :job_id AND o.from_ms > :now_ms AND o.reason = 'asked' AND o.at_ms <= :now_ms),
             -4611686018427387904),
    coalesce((SELECT max(o.to_ms) FROM occurrences o
              WHERE o.job_id = :job_id AND o.count > 1 AND o.to_ms > :now_ms AND o.from_ms <= :now_ms
                AND o.reason = 'asked' AND o.at_ms <= :now_ms), -4611686018427387904),
    :after_ms), -4611686018427387904);
