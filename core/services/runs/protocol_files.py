"""Protocol files: YAML descriptions of the user's protocols, for the studio and the command line."""

from __future__ import annotations

from pathlib import Path

from core.debate.protocols import custom
from core.files import read_text

PROTOCOL_SUFFIXES = (".yaml", ".yml")
"""File endings that mark a ``--protocol`` value as a protocol file."""


def load_protocol(protocol: str) -> tuple[str, dict[str, str]]:
    """Return the name and parameters of a protocol, given by name or by the path of a protocol file.

    The parameters freeze the text of the file into the run. Raises InputError for an unreadable file, and
    UsageError for a file without a valid protocol.
    """
    if not protocol.lower().endswith(PROTOCOL_SUFFIXES):
        return protocol, {}
    return parse_protocol(read_text(Path(protocol)), protocol)


def parse_protocol(text: str, where: str) -> tuple[str, dict[str, str]]:
    """Return the name and parameters of the protocol that a YAML text describes.

    Raises UsageError with the line of the error.
    """
    custom.parse_definition(text, where)
    return custom.NAME, {custom.SCRIPT: text}
