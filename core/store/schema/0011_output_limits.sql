-- Output limit of the request of a reply in tokens, 0 if unknown. A reply that was cut is not reused with a larger one.
ALTER TABLE replies ADD COLUMN output_limit INTEGER DEFAULT 0;
