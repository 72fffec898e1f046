"""What the rooms Evaluate and Compare are drawn with."""
