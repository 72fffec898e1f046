-- Frames of the review queue: the sizes with which the documents of a run are drawn in proportion, recorded before the
-- draws and never changed. basis is JSON: what the sizes rest on.
CREATE TABLE sampling_frames (
    run_id VARCHAR NOT NULL, frame INTEGER NOT NULL, unix_time DOUBLE NOT NULL, basis VARCHAR NOT NULL,
    PRIMARY KEY (run_id, frame)
);
CREATE TABLE sampling_sizes (
    run_id VARCHAR NOT NULL, frame INTEGER NOT NULL, document_id VARCHAR NOT NULL, size DOUBLE NOT NULL
);

-- How each submitted document came before the person: how is 'drawn' (in proportion to the sizes of a frame), 'chosen'
-- (picked by hand, probability NULL), in older projects 'audit' (each waiting document was as likely) or 'queue' (the
-- most urgent one). probability: the chance with which it was the next one, given the documents that were left then, of
-- which there were remaining (itself included).
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
