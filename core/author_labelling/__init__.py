"""Author labelling: the person who wrote a text answers questions about it at the moment of writing.

After Ma et al., *Authors Should Label Their Own Documents* (2025). Everything here is a pure value, a pure function or
a generator of requests; the store keeps the log, ``core.services.author_labelling`` connects both.
"""
