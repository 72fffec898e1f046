"""Command line: the studio's functions without a browser. The README documents its contract."""

from core.cli.commands import main

__all__ = ["main"]
