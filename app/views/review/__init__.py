"""What the Review room is drawn with."""
