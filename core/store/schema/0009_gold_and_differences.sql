-- A rating as JSON text, a whole number without a fraction.
CREATE MACRO rating_json(rating) AS if(rating = floor(rating), rating::BIGINT::VARCHAR, rating::VARCHAR);

-- The value that the raters of an item gave together, from the different values and the votes for each (an aggregate
-- over both): the majority, NULL on a tie; for ratings the mean.
CREATE MACRO gold_vote(value, votes) AS CASE
    WHEN count(*) = 1 THEN any_value(value)
    WHEN count(try_cast(value AS DOUBLE)) = count(*)
        THEN rating_json(sum(try_cast(value AS DOUBLE) * votes) / sum(votes))
    WHEN max(votes, 2)[1] > max(votes, 2)[2] THEN arg_max(value, votes) END;

-- Gold with one value per item: the only rater's, or the majority (no row on a tie); for ratings the mean.
CREATE OR REPLACE VIEW gold_labels AS
SELECT document_id, item, value
FROM (
    SELECT document_id, item, gold_vote(value, votes) AS value
    FROM (SELECT document_id, item, value, count(*) AS votes FROM gold GROUP BY ALL)
    GROUP BY document_id, item
)
WHERE value IS NOT NULL;

-- True if two values of an item differ, or any of several ones (an aggregate). Ratings differ from one point on; a
-- little less counts as one point, because means are rounded.
CREATE MACRO differs(one, other) AS
    coalesce(abs(try_cast(one AS DOUBLE) - try_cast(other AS DOUBLE)) >= 0.999, one <> other);
CREATE MACRO any_differ(value) AS
    CASE WHEN count(value) = count(try_cast(value AS DOUBLE))
         THEN max(try_cast(value AS DOUBLE)) - min(try_cast(value AS DOUBLE)) >= 0.999
         ELSE min(value) <> max(value) END;

-- Documents whose verdict on an item differs from the reviewed value of a similar document.
CREATE OR REPLACE VIEW differing_neighbours AS
SELECT verdicts.run_id AS run_id, document_id, verdicts.item AS item, precedent_id, similarity
FROM neighbours JOIN (SELECT * FROM annotations WHERE annotator = 'verdict') AS verdicts USING (document_id)
JOIN reviewed_labels AS reviewed ON reviewed.document_id = precedent_id AND reviewed.item = verdicts.item
WHERE differs(verdicts.value, reviewed.value);

-- Only gold that the codebook of the run allows counts, as in Evaluate and exports.
CREATE OR REPLACE VIEW evaluation_review AS
WITH scales AS (
    SELECT run_id, kind, label.id AS label, coalesce(label.scale, scale) AS scale
    FROM (
        SELECT run_id, json_extract_string(settings, '$.codebook.kind') AS kind,
               unnest(from_json(json_extract(settings, '$.codebook.labels'),
                   '[{"id":"VARCHAR","scale":{"min":"BIGINT","max":"BIGINT"}}]')) AS label,
               from_json(json_extract(settings, '$.codebook.scale'), '{"min":"BIGINT","max":"BIGINT"}') AS scale
        FROM runs
    )
), votes AS (
    SELECT run_id, document_id, run_labels.item AS item, value, count(*) AS votes
    FROM gold JOIN run_labels USING (item) JOIN scales USING (run_id, label)
    WHERE CASE kind
        WHEN 'multilabel' THEN value IN ('true', 'false')
        WHEN 'choice' THEN value = '"' || label || '"'
        ELSE try_cast(value AS DOUBLE) BETWEEN scale.min AND scale.max END
    GROUP BY ALL
), labels AS (
    SELECT run_id, document_id, item, gold_vote(value, votes) AS value FROM votes GROUP BY run_id, document_id, item
), truth AS (
    SELECT run_id, document_id, aspect_json(list({'name': name, 'value':
           if(labels.item = 'label', (value = '"' || label || '"')::VARCHAR, value)} ORDER BY nth)) AS true_aspect
    FROM labels JOIN run_labels USING (run_id, item)
    WHERE value IS NOT NULL
    GROUP BY run_id, document_id
)
SELECT annotated_review.run_id, id, conversation, review, verdict, aspect, true_aspect
FROM annotated_review JOIN truth ON truth.run_id = annotated_review.run_id AND document_id = id;
