"""Parsers for model replies: from text to a decision, or to the reason why there is none.

A reply is read in these steps, one module or two for each:

1. Text is compared in a normalised form, with quotations set apart (``normalise``, ``quotation_marks``).
2. Names of the codebook are found in it, the longest first (``label_names``).
3. Reasoning is removed, and the places that announce a decision are found: marker lines such as "Final Decision:"
   (``decision_markers``; their words are in ``marker_patterns``) and JSON (``json_blocks``). Quoted, denied, supposed
   and reported ones do not count.
4. The last of these places is the decision (``base_reader``). Without one, it is what the whole reply states. Each
   kind of codebook has its reader: ``labels_reader``, ``choice_reader`` and ``ratings_reader``. ``parse`` starts it.
5. The words of the decision become tokens: names, answers, separators, and words (``tokens``).
6. A grammar reads them completely or not at all: ``labels_grammar`` and ``choice_grammar``; that of ratings is in their
   reader. ``json_answers`` reads the values of JSON.
7. Words that a grammar leaves over make the reply unreadable, with the words as the problem.
8. Each clause after the decision may claim that a label is present or absent (``claims``). A claim that differs
   from the decision, or words that take it back, make the reply unreadable (``contradictions``). So do other labels
   under a heading or key that is not known to reject them or to be aside (``headings``).
9. Labels that the reply leaves open are undecided; all other labels have a value.
"""
