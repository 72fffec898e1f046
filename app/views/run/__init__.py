"""What the Run room is drawn with."""
