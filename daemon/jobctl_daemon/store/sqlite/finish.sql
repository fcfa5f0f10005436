-- name: end_attempt
-- How an attempt ended.
UPDATE attempts SET ended_ms = ?, started_ms = coalesce(?, started_ms), pid = coalesce(?, pid),
                    pid_start = coalesce(?, pid_start), exit_code = ?, signal = ?, failure_class = ?, detail = ?,
                    cpu_ms = ?, max_rss_kb = ?, log_size = ?, log_dropped_from = ?, log_dropped_to = ?, signals = ?,
                    left_behind = ?
WHERE run_id = ? AND attempt = ?;

-- name: last_run
-- A job's newest ended run, so that no list of jobs looks into history.
UPDATE jobs SET failing = ?, last_run_id = ?, last_state = ?, last_ms = ?, last_outcome = ?, last_exit_code = ?,
                last_signal = ?, kept_runs = kept_runs + ?
WHERE id = ?;
