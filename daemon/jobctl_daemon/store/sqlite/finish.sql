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
-- A job's newest ended run. One that was cancelled says nothing about whether the job works.
INSERT INTO last_runs (job_id, run_id, failing, state, finished_ms, outcome, exit_code, signal)
VALUES (?, ?, ?, ?, ?, ?, nullif(?, -4611686018427387904), nullif(?, -4611686018427387904))
ON CONFLICT (job_id) DO UPDATE SET run_id = excluded.run_id, state = excluded.state,
    failing = CASE WHEN excluded.state = 'cancelled' THEN failing ELSE excluded.failing END,
    finished_ms = excluded.finished_ms, outcome = excluded.outcome, exit_code = excluded.exit_code,
    signal = excluded.signal;

-- name: failing
-- Those of the jobs whose last run did not succeed.
SELECT job_id FROM last_runs WHERE failing = 1 AND job_id IN (SELECT value FROM json_each(?));

-- name: retry
-- Running → ready, due later, or held with its gate while its job is paused. Its budgets are counted.
UPDATE runs SET state = CASE WHEN :held THEN 'scheduled' ELSE 'ready' END, held = :held, due_ms = :due_ms,
                start_by_ms = NULL, failures = failures + :failed, losses = losses + :lost, probe = :probe,
                outcome = :outcome, failure_class = :failure_class, reason = :reason, exit_code = :exit_code,
                signal = :signal, ended_ms = :ended_ms, node = NULL, boot_id = NULL, runner = NULL, pid = NULL,
                pid_start = NULL, claimed_ms = NULL, started_ms = NULL
WHERE id = :run_id AND fence = :fence AND state = 'running';

-- name: bury
-- Running → dead: it stays here, to be replayed.
UPDATE runs SET state = 'dead', gate = NULL, probe = 0, stop_wanted = NULL, stop_by = NULL, start_by_ms = NULL,
                failures = failures + :failed, losses = losses + :lost,
                outcome = :outcome, failure_class = :failure_class, reason = :reason, exit_code = :exit_code,
                signal = :signal, started_ms = coalesce(:started_ms, started_ms), ended_ms = :ended_ms, error = :error,
                fingerprint = :fingerprint, runner = NULL, pid = NULL, pid_start = NULL
WHERE id = :run_id AND fence = :fence AND state = 'running';
