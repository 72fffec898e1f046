"""The Codebook room: labels, their definitions and versions, and what they find in the data."""
