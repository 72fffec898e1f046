-- Frames of the review queue: sizes in proportion to which the documents of a run are drawn, stored before the draws
-- and never changed. basis is JSON: the data that the sizes were computed from.
CREATE TABLE sampling_frames (
    run_id VARCHAR NOT NULL, frame INTEGER NOT NULL, unix_time DOUBLE NOT NULL, basis VARCHAR NOT NULL,
    PRIMARY KEY (run_id, frame)
);
CREATE TABLE sampling_sizes (
    run_id VARCHAR NOT NULL, frame INTEGER NOT NULL, document_id VARCHAR NOT NULL, size DOUBLE NOT NULL
);

-- How each submitted document was selected. how is 'drawn' (in proportion to the sizes of a frame) or 'chosen' (picked
-- by hand, probability NULL); in older projects also 'audit' (drawn uniformly) or 'queue' (the most urgent one).
-- probability is the probability of drawing this document next among the documents left at that time; remaining is
-- their number, this one included.
CREATE OR REPLACE VIEW selections AS
SELECT run_id, document_id, actor, first.payload ->> '$.how' AS how,
       (first.payload ->> '$.probability')::DOUBLE AS probability,
       (first.payload ->> '$.remaining')::INTEGER AS remaining,
       (first.payload ->> '$.frame')::INTEGER AS frame,
       (first.payload ->> '$.seconds')::DOUBLE AS seconds, seq
FROM (
    SELECT run_id, document_id, actor, min(seq) AS seq, arg_min({'payload': payload}, seq) AS first
    FROM events
    WHERE kind = 'review_status' AND after = '"Submitted"' AND act NOT IN (SELECT act FROM undone_acts)
    GROUP BY run_id, document_id, actor
);
