"""What the Models room is drawn with."""
