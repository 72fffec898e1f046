"""What the Codebook room is drawn with."""
