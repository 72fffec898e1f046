-- The tables of a project. Never edit a released file in this folder; add a file with the next number.
-- JSON is stored as text; values of items are JSON (true, 3, "label id"). Times are Unix seconds.

CREATE TABLE imports (
    id INTEGER PRIMARY KEY, file_name VARCHAR NOT NULL, unix_time DOUBLE NOT NULL, options VARCHAR NOT NULL,
    counts VARCHAR NOT NULL
);
CREATE TABLE rejected_rows (import_id INTEGER NOT NULL, line BIGINT NOT NULL, reason VARCHAR NOT NULL, raw VARCHAR);

CREATE TABLE documents (
    id VARCHAR PRIMARY KEY, position BIGINT NOT NULL, import_id INTEGER,
    field VARCHAR NOT NULL,    -- name of the first text field
    text VARCHAR NOT NULL,     -- the first text field, into which evidence points
    context VARCHAR NOT NULL,  -- the further text fields by name
    words INTEGER NOT NULL,    -- of the first text field
    source VARCHAR NOT NULL,   -- the columns of the imported row
    group_name VARCHAR NOT NULL,  -- the group that the document belongs to, empty for none
    group_order DOUBLE            -- its position in the group
);
CREATE TABLE gold (document_id VARCHAR NOT NULL, rater VARCHAR NOT NULL, item VARCHAR NOT NULL, value VARCHAR NOT NULL);

CREATE TABLE codebook_versions (
    version INTEGER PRIMARY KEY, hash VARCHAR NOT NULL, body VARCHAR NOT NULL, note VARCHAR NOT NULL,
    unix_time DOUBLE NOT NULL, actor VARCHAR NOT NULL
);

CREATE SEQUENCE event_seq;
CREATE TABLE events (
    seq BIGINT PRIMARY KEY,
    act BIGINT NOT NULL,       -- seq of the first event of the same action, the unit of undo
    unix_time DOUBLE NOT NULL, actor VARCHAR NOT NULL, kind VARCHAR NOT NULL,
    document_id VARCHAR, run_id VARCHAR, codebook_version INTEGER,
    item VARCHAR, before VARCHAR, after VARCHAR,
    target BIGINT,             -- for an undo or redo: the act that it reverts or restores
    payload VARCHAR NOT NULL
);

CREATE TABLE settings (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL, unix_time DOUBLE NOT NULL);

CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY, number INTEGER NOT NULL, experiment_id VARCHAR NOT NULL, settings VARCHAR NOT NULL,
    state VARCHAR NOT NULL, created_at DOUBLE NOT NULL, finished_at DOUBLE, seconds DOUBLE NOT NULL,
    stop_code VARCHAR NOT NULL, message VARCHAR NOT NULL, rejected INTEGER NOT NULL, retry INTEGER NOT NULL,
    purpose VARCHAR NOT NULL   -- 'run', or 'lab' for a run of a trial
);
CREATE TABLE run_documents (run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, position BIGINT NOT NULL);

-- Labelled documents that a run may show as examples, frozen at its first start. labels is {item: value}.
CREATE TABLE run_precedents (run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, labels VARCHAR NOT NULL);

CREATE TABLE texts (hash VARCHAR PRIMARY KEY, text VARCHAR NOT NULL);  -- system prompts
CREATE TABLE replies (
    key VARCHAR PRIMARY KEY, text VARCHAR NOT NULL, reasoning VARCHAR NOT NULL, finish_reason VARCHAR NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, estimated BOOLEAN NOT NULL, cost_usd DOUBLE, seconds DOUBLE NOT NULL,
    unix_time DOUBLE NOT NULL, refused_params VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,        -- the run that paid for the reply
    served_model VARCHAR NOT NULL         -- the server's name of the model, empty if unknown
);
CREATE TABLE attempts (
    run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, role VARCHAR NOT NULL, key VARCHAR NOT NULL,
    kind VARCHAR NOT NULL, message VARCHAR NOT NULL, text VARCHAR NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, cost_usd DOUBLE, seconds DOUBLE NOT NULL, unix_time DOUBLE NOT NULL
);
CREATE TABLE turns (
    run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, turn INTEGER NOT NULL, key VARCHAR NOT NULL,
    role VARCHAR NOT NULL, form VARCHAR NOT NULL, retry INTEGER NOT NULL, role_model VARCHAR NOT NULL,
    messages VARCHAR NOT NULL,      -- [{role, content}]; a system prompt is {role, text: hash in texts}
    cached BOOLEAN NOT NULL, reading VARCHAR NOT NULL,
    values VARCHAR,                 -- the role's own decided values as canonical JSON, NULL if it gave none
    evidence VARCHAR NOT NULL, evidence_total INTEGER NOT NULL, evidence_supported INTEGER NOT NULL,
    superseded BOOLEAN NOT NULL,    -- the document was debated again later
    round INTEGER NOT NULL,         -- from 0, for protocols with rounds
    replies_to VARCHAR NOT NULL,       -- roles whose replies the request contains
    item VARCHAR NOT NULL,          -- the label of a request about one label, else empty
    PRIMARY KEY (run_id, document_id, turn, key)
);
CREATE TABLE verdicts (
    run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, status VARCHAR NOT NULL, verdict VARCHAR NOT NULL,
    values VARCHAR NOT NULL,        -- the decided values as canonical JSON
    unix_time DOUBLE NOT NULL,
    PRIMARY KEY (run_id, document_id)
);
CREATE TABLE superseded_verdicts (
    run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, status VARCHAR NOT NULL, verdict VARCHAR NOT NULL,
    values VARCHAR NOT NULL, unix_time DOUBLE NOT NULL
);
CREATE TABLE annotations (
    run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, annotator VARCHAR NOT NULL,
    turn INTEGER,                   -- NULL for the verdict
    item VARCHAR NOT NULL, value VARCHAR, reason VARCHAR NOT NULL
);

-- The classifier's certainty (0 to 1) of its value of an item. Rewritten after each training.
CREATE TABLE certainties (
    annotator VARCHAR NOT NULL, document_id VARCHAR NOT NULL, item VARCHAR NOT NULL, certainty DOUBLE NOT NULL
);
-- The most similar reviewed document of each unreviewed one, with its cosine similarity. Rewritten after each training.
CREATE TABLE neighbours (document_id VARCHAR NOT NULL, precedent_id VARCHAR NOT NULL, similarity DOUBLE NOT NULL);
-- Trained classifiers. body is a skops file, card describes the training, origin is the file that it was imported from
-- (empty if trained in this project).
CREATE TABLE classifiers (
    hash VARCHAR PRIMARY KEY, body BLOB NOT NULL, facts VARCHAR NOT NULL, card VARCHAR NOT NULL,
    unix_time DOUBLE NOT NULL, origin VARCHAR NOT NULL
);
-- Words of reviewed documents that are used in the codebook. part is include, exclude or keywords of the label.
CREATE TABLE codebook_examples (
    document_id VARCHAR NOT NULL, label VARCHAR NOT NULL, part VARCHAR NOT NULL, text VARCHAR NOT NULL,
    codebook_version INTEGER NOT NULL, unix_time DOUBLE NOT NULL, actor VARCHAR NOT NULL
);
-- Cached reasons for review of documents of a run (store/review_reasons).
CREATE TABLE review_reasons (
    run_id VARCHAR NOT NULL, document_id VARCHAR NOT NULL, reasons INTEGER NOT NULL,  -- bits
    quotes INTEGER NOT NULL, supported INTEGER NOT NULL, seen DOUBLE NOT NULL
);
CREATE TABLE review_reason_states (run_id VARCHAR PRIMARY KEY, basis VARCHAR NOT NULL, verdicts VARCHAR NOT NULL);

-- Personas of panels: saved versions (never changed) and their source documents.
CREATE TABLE persona_versions (
    version INTEGER PRIMARY KEY, hash VARCHAR NOT NULL, body VARCHAR NOT NULL, note VARCHAR NOT NULL,
    unix_time DOUBLE NOT NULL, actor VARCHAR NOT NULL
);
CREATE TABLE persona_sources (name VARCHAR PRIMARY KEY, text VARCHAR NOT NULL, unix_time DOUBLE NOT NULL);

-- The Lab: versions of templates (never changed once saved), their drafts, trials and sweeps.
-- slot is folder and role ('ecj/judge'); name and parent are template names in runs ('own/ecj/judge.v2').
CREATE TABLE prompt_versions (
    name VARCHAR PRIMARY KEY, slot VARCHAR NOT NULL, number INTEGER NOT NULL, parent VARCHAR NOT NULL,
    text VARCHAR NOT NULL, note VARCHAR NOT NULL, unix_time DOUBLE NOT NULL, actor VARCHAR NOT NULL
);
CREATE TABLE prompt_drafts (
    slot VARCHAR PRIMARY KEY, parent VARCHAR NOT NULL, text VARCHAR NOT NULL, unix_time DOUBLE NOT NULL
);
CREATE TABLE trials (
    trial INTEGER PRIMARY KEY, unix_time DOUBLE NOT NULL, subject VARCHAR NOT NULL, before VARCHAR NOT NULL,
    after VARCHAR NOT NULL, before_run VARCHAR NOT NULL, after_run VARCHAR NOT NULL,
    before_asks VARCHAR NOT NULL, after_asks VARCHAR NOT NULL,  -- hashes of everything that determines the requests
    sample VARCHAR NOT NULL,
    held_out BOOLEAN NOT NULL  -- True for a score on the held-out split
);
CREATE TABLE sweeps (
    sweep INTEGER PRIMARY KEY, unix_time DOUBLE NOT NULL, spec VARCHAR NOT NULL, progress VARCHAR NOT NULL,
    state VARCHAR NOT NULL, message VARCHAR NOT NULL
);
CREATE TABLE batches (              -- files of requests sent to a server
    name VARCHAR PRIMARY KEY,       -- Moot's name of the file
    run_id VARCHAR NOT NULL, connection VARCHAR NOT NULL, model VARCHAR NOT NULL, base_url VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL,     -- the server's id of the batch, empty until known
    unix_time DOUBLE NOT NULL,
    outcome VARCHAR                 -- NULL while replies are expected
);
CREATE TABLE batch_requests (name VARCHAR NOT NULL, key VARCHAR NOT NULL);
