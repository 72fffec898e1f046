-- Current value of an item: the last adjudicated value unless it was withdrawn, else the latest of the people who
-- submitted the document, else the latest of anybody. No row if it was withdrawn.
CREATE OR REPLACE VIEW current_reviews AS
SELECT document_id, item, last.value AS value, last.actor AS actor, last.unix_time AS unix_time,
       last.codebook_version AS codebook_version, last.run_id AS run_id, last.seq AS seq
FROM (
    SELECT document_id, item, if(adjudicated.value IS NULL, reviewed, adjudicated) AS last
    FROM (
        SELECT document_id, item,
               arg_max(decision, decision.seq) FILTER (kind = 'adjudication') AS adjudicated,
               arg_max(decision, decision.seq + if(status = 'Submitted', 1000000000000, 0))
                   FILTER (kind = 'review' AND decision.value IS NOT NULL) AS reviewed
        FROM (
            SELECT document_id, item, actor, kind,
                   {'value': value, 'actor': actor, 'unix_time': unix_time, 'codebook_version': codebook_version,
                    'run_id': run_id, 'seq': seq} AS decision
            FROM person_reviews
        ) AS decisions
        LEFT JOIN (SELECT document_id, actor, status FROM person_status) AS statuses USING (document_id, actor)
        GROUP BY document_id, item
    )
)
WHERE last.value IS NOT NULL;
