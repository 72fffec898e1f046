"""The command line: the same use-cases as the studio, without a browser. The contract is in the README."""

from core.cli.commands import main

__all__ = ["main"]
