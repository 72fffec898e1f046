-- Log probabilities of the tokens of a reply: [[position in the text, log probability]].
ALTER TABLE replies ADD COLUMN token_logprobs VARCHAR DEFAULT '[]';
