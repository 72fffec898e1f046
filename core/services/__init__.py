"""Use cases of the studio, for the pages and the command line alike."""
