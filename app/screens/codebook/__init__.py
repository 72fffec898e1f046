"""The Codebook page."""
