-- Turns and annotations of a superseded verdict. They become current again if the retry fails. NULL: not recorded.
ALTER TABLE superseded_verdicts ADD COLUMN turns VARCHAR;
ALTER TABLE superseded_verdicts ADD COLUMN annotations VARCHAR;
