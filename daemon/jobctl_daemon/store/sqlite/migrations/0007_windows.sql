-- Lists as screens show them, whose places are found without a look at the rows.

-- Deliveries of mail are no part of a list of runs. A column, because an expression is not read from an index.
ALTER TABLE history ADD COLUMN mail INTEGER NOT NULL DEFAULT 0 CHECK (mail IN (0, 1));
UPDATE history SET mail = 1 WHERE substr(key, 1, 5) = 'mail:';
-- In the order in which runs ended.
CREATE INDEX history_ended ON history (finished_ms, id, owner_id, state, mail);
CREATE INDEX history_mails ON history (owner_id) WHERE mail = 1;
CREATE INDEX jobs_shown ON jobs (name, id, owner_id) WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0;
