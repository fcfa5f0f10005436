-- name: insert_attempt
-- The effort that ended; what the result does not say comes from the claim.
INSERT INTO attempts (run_id, attempt, fence, node, boot_id, runner, claimed_ms, started_ms, pid, pid_start, ended_ms,
                      exit_code, signal, failure_class, detail, cpu_ms, max_rss_kb, log_size, log_dropped_from,
                      log_dropped_to, signals, left_behind)
SELECT id, attempt, fence, node, boot_id, runner, claimed_ms, coalesce(nullif(?, -4611686018427387904), started_ms),
       coalesce(nullif(?, -4611686018427387904), pid), coalesce(nullif(?, -4611686018427387904), pid_start), ?,
       nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), nullif(?, -4611686018427387904),
       nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), nullif(?, -4611686018427387904),
       nullif(?, -4611686018427387904), nullif(?, -4611686018427387904), nullif(?, -4611686018427387904)
FROM runs WHERE id = ?;

-- name: put_last_run
-- A job's newest ended run.
INSERT INTO last_runs (job_id, run_id, failing, state, finished_ms, outcome, exit_code, signal)
VALUES (?, ?, ?, ?, ?, ?, nullif(?, -4611686018427387904), nullif(?, -4611686018427387904))
ON CONFLICT (job_id) DO UPDATE SET run_id = excluded.run_id, failing = excluded.failing, state = excluded.state,
    finished_ms = excluded.finished_ms, outcome = excluded.outcome, exit_code = excluded.exit_code,
    signal = excluded.signal;
