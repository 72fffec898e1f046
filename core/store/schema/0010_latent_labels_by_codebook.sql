-- Labels that several annotators imply together (core/services/evaluation/latent_truth.py), from the answers that a
-- codebook allows. allowed is the digest of these values. Rewritten when they change.
DROP TABLE latent_labels;
CREATE TABLE latent_labels (
    allowed VARCHAR NOT NULL, document_id VARCHAR NOT NULL, item VARCHAR NOT NULL, value VARCHAR NOT NULL
);
