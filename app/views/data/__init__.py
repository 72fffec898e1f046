"""What the Data room is drawn with."""
