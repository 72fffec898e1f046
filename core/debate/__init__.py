"""Debates as generators: protocols, reading of replies, evidence. No I/O, no clock."""
