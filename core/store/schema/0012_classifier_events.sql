-- Last event before a classifier was stored: its training data was submitted until then, whatever the clock said.
ALTER TABLE classifiers ADD COLUMN last_event BIGINT DEFAULT 0;
UPDATE classifiers
SET last_event = (SELECT coalesce(max(seq), 0) FROM events WHERE events.unix_time <= classifiers.unix_time);
