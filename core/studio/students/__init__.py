"""The student: taught by decisions in the background, shown, taken along in a file."""
