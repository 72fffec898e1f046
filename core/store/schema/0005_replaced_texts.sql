-- SHA-256 of the texts that ids with runs or reviews had when the documents were replaced. Such an id is never given to
-- another text. digest is empty if the text is unknown.
CREATE TABLE replaced_texts (document_id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL);
