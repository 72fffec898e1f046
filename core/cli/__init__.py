"""Command line: the studio's functions without a browser. Its contract is ``docs/reference``."""

from core.cli.commands import main

__all__ = ["main"]
