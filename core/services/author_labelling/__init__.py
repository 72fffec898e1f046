"""Author labelling: texts, questions and answers, the comparison of annotators, and files."""
