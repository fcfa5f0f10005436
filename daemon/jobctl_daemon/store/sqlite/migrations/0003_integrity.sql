-- A time that comes again after the clock was set back has rows of the first time: which schedule they are of is told
-- by the generation of the clock in which the schedule began. What began before this column counts as of the first one.
ALTER TABLE schedule_versions ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
