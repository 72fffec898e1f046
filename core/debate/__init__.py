"""Debates as generators: protocols ask, replies are read, evidence is located. No I/O, no clock."""
