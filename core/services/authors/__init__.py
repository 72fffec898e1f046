"""Author labelling: the writing desk, the comparison of annotators, and files."""
