"""What the Lab is drawn with."""
