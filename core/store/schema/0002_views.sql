-- Views for the pages and for people who query the file. Each is cheap with a filter on run_id.

-- Acts that were undone and not redone.
CREATE VIEW undone_acts AS
SELECT target AS act FROM events WHERE kind IN ('undo', 'redo') GROUP BY target HAVING arg_max(kind, seq) = 'undo';

-- The last decision of each person on an item, without undone acts. value is NULL if it was withdrawn. kind is
-- 'review', or 'adjudication' for the resolution of a disagreement.
CREATE VIEW person_reviews AS
SELECT document_id, item, actor, kind, last.value AS value, last.unix_time AS unix_time,
       last.codebook_version AS codebook_version, last.run_id AS run_id, seq
FROM (
    SELECT document_id, item, actor, kind, max(seq) AS seq,
           arg_max({'value': after, 'unix_time': unix_time, 'codebook_version': codebook_version, 'run_id': run_id},
                   seq) AS last
    FROM events WHERE kind IN ('review', 'adjudication') AND act NOT IN (SELECT act FROM undone_acts)
    GROUP BY document_id, item, actor, kind
);

-- Status of a document for each person; no row means Pending.
CREATE VIEW person_status AS
SELECT document_id, actor, json_extract_string(arg_max(after, seq), '$') AS status,
       arg_max(unix_time, seq) AS unix_time, max(seq) AS seq
FROM events WHERE kind = 'review_status' AND act NOT IN (SELECT act FROM undone_acts)
GROUP BY document_id, actor;

-- Status of a document: Submitted if one person has submitted it, otherwise the latest status of any person.
CREATE VIEW current_status AS
SELECT document_id, last.status AS status, last.unix_time AS unix_time, last.actor AS actor, last.seq AS seq
FROM (
    SELECT document_id, arg_max({'status': status, 'unix_time': unix_time, 'actor': actor, 'seq': seq},
                                seq + if(status = 'Submitted', 1000000000000, 0)) AS last
    FROM person_status GROUP BY document_id
);

-- Current value of an item: the adjudicated value, else the latest of the people who submitted the document, else the
-- latest of anybody. No row if it was withdrawn.
CREATE VIEW current_reviews AS
SELECT document_id, item, last.value AS value, last.actor AS actor, last.unix_time AS unix_time,
       last.codebook_version AS codebook_version, last.run_id AS run_id, last.seq AS seq
FROM (
    SELECT document_id, item,
           arg_max({'value': value, 'actor': actor, 'unix_time': decisions.unix_time,
                    'codebook_version': codebook_version, 'run_id': run_id, 'seq': decisions.seq},
                   decisions.seq + CASE WHEN kind = 'adjudication' THEN 2000000000000
                                   WHEN status = 'Submitted' THEN 1000000000000 ELSE 0 END) AS last
    FROM (SELECT * FROM person_reviews WHERE value IS NOT NULL) AS decisions
    LEFT JOIN person_status USING (document_id, actor)
    GROUP BY document_id, item
);

-- The latest note, error tags, flag and skip of a document by anybody. value is JSON; no row if it was withdrawn.
CREATE VIEW current_marks AS
SELECT document_id, item, last.value AS value, last.actor AS actor, last.unix_time AS unix_time
FROM (
    SELECT document_id, item, arg_max({'value': after, 'actor': actor, 'unix_time': unix_time}, seq) AS last
    FROM events WHERE kind = 'mark' AND act NOT IN (SELECT act FROM undone_acts)
    GROUP BY document_id, item
)
WHERE last.value IS NOT NULL;

-- How each submitted document was selected. how is 'audit' (drawn at random), 'queue' (the most urgent one) or 'chosen'
-- (picked by hand, probability NULL). probability is the probability of drawing this document next among the documents
-- left at that time; remaining is their number, this one included.
CREATE VIEW selections AS
SELECT run_id, document_id, actor, first.payload ->> '$.how' AS how,
       (first.payload ->> '$.probability')::DOUBLE AS probability,
       (first.payload ->> '$.remaining')::INTEGER AS remaining,
       (first.payload ->> '$.seconds')::DOUBLE AS seconds, seq
FROM (
    SELECT run_id, document_id, actor, min(seq) AS seq, arg_min({'payload': payload}, seq) AS first
    FROM events
    WHERE kind = 'review_status' AND after = '"Submitted"' AND act NOT IN (SELECT act FROM undone_acts)
    GROUP BY run_id, document_id, actor
);

-- Values of submitted documents.
CREATE VIEW reviewed_labels AS
SELECT document_id, item, value, actor FROM current_reviews
SEMI JOIN (SELECT document_id FROM current_status WHERE status = 'Submitted') USING (document_id);

-- Gold with one value per item: the only rater's, or the majority (no row on a tie); for ratings the mean.
CREATE VIEW gold_labels AS
SELECT document_id, item,
       CASE WHEN mean IS NULL OR count = 1 THEN value
            WHEN mean = floor(mean) THEN mean::BIGINT::VARCHAR ELSE mean::VARCHAR END AS value
FROM (
    SELECT document_id, item, arg_max(value, votes) AS value, count(*) AS count,
           count(*) = 1 OR max(votes, 2)[1] > max(votes, 2)[2] AS agreed,
           CASE WHEN count(try_cast(value AS DOUBLE)) = count(*)
                THEN sum(try_cast(value AS DOUBLE) * votes) / sum(votes) END AS mean
    FROM (SELECT document_id, item, value, count(*) AS votes FROM gold GROUP BY ALL)
    GROUP BY document_id, item
)
WHERE agreed OR mean IS NOT NULL;

-- The last turn with values of each role in a debate, or its last turn if none has values.
CREATE VIEW last_values AS
SELECT run_id, document_id, role, min(turn) AS first_turn, last.turn AS turn, last.values AS values,
       last.evidence AS evidence, last.evidence_total AS evidence_total, last.evidence_supported AS evidence_supported
FROM (
    SELECT run_id, document_id, role, turn,
           arg_max({'turn': turn, 'values': values, 'evidence': evidence, 'evidence_total': evidence_total,
                    'evidence_supported': evidence_supported}, turn + if(values IS NULL, 0, 1000000))
               OVER (PARTITION BY run_id, document_id, role) AS last
    FROM turns WHERE NOT superseded
)
GROUP BY ALL;

-- Final values of each annotator of a run: the verdict, and the last list of each role. No row if unreadable.
CREATE VIEW run_values AS
SELECT run_id, document_id, item, annotator, arg_max_null(value, turn) AS value
FROM annotations WHERE annotator <> 'verdict'
GROUP BY run_id, document_id, item, annotator HAVING arg_max_null(value, turn) IS NOT NULL
UNION ALL
SELECT run_id, document_id, item, annotator, value
FROM annotations WHERE annotator = 'verdict' AND value IS NOT NULL;

-- The labels of a run's codebook in order. item is the item of annotations: the label's id, or 'label' for a choice.
CREATE VIEW run_labels AS
SELECT run_id, if(kind = 'choice', 'label', label.id) AS item, label.id AS label, label.name AS name, nth
FROM (
    SELECT run_id, kind, unnest(labels) AS label, generate_subscripts(labels, 1) AS nth
    FROM (
        SELECT run_id, json_extract_string(settings, '$.codebook.kind') AS kind,
               from_json(json_extract(settings, '$.codebook.labels'), '[{"id":"VARCHAR","name":"VARCHAR"}]') AS labels
        FROM runs
    )
);

-- Documents whose verdict on an item differs from the reviewed value of a similar document. Ratings differ if they are
-- more than one step apart.
CREATE VIEW differing_neighbours AS
SELECT verdicts.run_id AS run_id, document_id, verdicts.item AS item, precedent_id, similarity
FROM neighbours JOIN (SELECT * FROM annotations WHERE annotator = 'verdict') AS verdicts USING (document_id)
JOIN reviewed_labels AS reviewed ON reviewed.document_id = precedent_id AND reviewed.item = verdicts.item
WHERE coalesce(abs(try_cast(verdicts.value AS DOUBLE) - try_cast(reviewed.value AS DOUBLE)) > 1,
    verdicts.value <> reviewed.value);

-- Documents whose words are examples or keywords in the codebook of a run. They are excluded from its scores.
CREATE VIEW example_documents AS
SELECT DISTINCT run_id, document_id
FROM codebook_examples JOIN (
    SELECT run_id, unnest(from_json(json_extract(settings, '$.codebook.labels'),
        '[{"id":"VARCHAR","include":["VARCHAR"],"exclude":["VARCHAR"],"keywords":["VARCHAR"]}]')) AS known
    FROM runs
) ON known.id = label AND list_contains(
    CASE part WHEN 'include' THEN known.include WHEN 'exclude' THEN known.exclude ELSE known.keywords END, text);

-- {"name": value, ...} from a list of {name, value}; value is JSON text or NULL.
CREATE MACRO aspect_json(pairs) AS ('{' || array_to_string(
    list_transform(pairs, lambda pair: to_json(pair.name)::VARCHAR || ': ' || coalesce(pair.value, 'null')), ', ') || '}')::JSON;

-- The tables of the ECJ paper's appendix C, over all runs. conversation: all replies before those of the last role.
CREATE VIEW annotated_review AS
WITH spoken AS (
    SELECT turns.run_id, document_id, turn, role, text,
           last_value(role) OVER (PARTITION BY turns.run_id, document_id ORDER BY turn
               ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_role
    FROM turns JOIN replies USING (key) WHERE NOT superseded
), debates AS (
    SELECT run_id, document_id,
           coalesce(string_agg(role || ': ' || text, chr(10) || chr(10) ORDER BY turn) FILTER (role <> last_role), '')
               AS conversation,
           arg_max(text, turn) AS verdict
    FROM spoken GROUP BY run_id, document_id
), decided AS (
    SELECT annotations.run_id, document_id, aspect_json(list({'name': name, 'value':
           if(annotations.item = 'label', (value = '"' || label || '"')::VARCHAR, value)} ORDER BY nth)) AS aspect
    FROM annotations JOIN run_labels USING (run_id, item)
    WHERE annotator = 'verdict'
    GROUP BY annotations.run_id, document_id
)
SELECT run_id, id, conversation, text AS review, verdict, aspect
FROM debates JOIN documents ON id = document_id LEFT JOIN decided USING (run_id, document_id);

CREATE VIEW evaluation_review AS
WITH truth AS (
    SELECT run_id, document_id, aspect_json(list({'name': name, 'value':
           if(gold_labels.item = 'label', (value = '"' || label || '"')::VARCHAR, value)} ORDER BY nth)) AS true_aspect
    FROM gold_labels JOIN run_labels USING (item)
    GROUP BY run_id, document_id
)
SELECT annotated_review.run_id, id, conversation, review, verdict, aspect, true_aspect
FROM annotated_review JOIN truth ON truth.run_id = annotated_review.run_id AND document_id = id;
