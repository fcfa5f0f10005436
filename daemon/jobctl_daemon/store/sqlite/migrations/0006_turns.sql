-- What each owner has running, and what of each is due: nobody waits for all that somebody else has.
CREATE INDEX runs_at_work ON runs (owner_id) WHERE state = 'running';
CREATE INDEX runs_due_of ON runs (owner_id, due_ms, id) WHERE state = 'scheduled' AND held = 0 AND waits = 0;
