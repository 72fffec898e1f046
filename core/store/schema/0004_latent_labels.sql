-- Labels that several annotators imply together (core/services/evaluation/latent_truth.py). Rewritten when they change.
CREATE TABLE latent_labels (document_id VARCHAR NOT NULL, item VARCHAR NOT NULL, value VARCHAR NOT NULL);
