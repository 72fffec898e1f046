"""A protocol from a file on disk, as the command line and the Run page take it."""

from __future__ import annotations

from pathlib import Path

from core.debate.protocols import custom
from core.debate.protocols.custom import read
from core.errors import InputError

ENDINGS = (".yaml", ".yml")


def chosen(protocol: str) -> tuple[str, dict[str, str]]:
    """A protocol by name, or the path of a file that describes one: its name, and the parameters that freeze the file
    into the run. InputError for a file that cannot be read, UsageError for one that describes no protocol."""
    if not protocol.lower().endswith(ENDINGS):
        return protocol, {}
    try:
        text = Path(protocol).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{protocol} is not UTF-8 text.", "Save the protocol as UTF-8 YAML.") from error
    except OSError as error:
        raise InputError(f"{protocol} cannot be read: {error.strerror}.", "Check the path of --protocol.") from error
    return described(text, protocol)


def described(text: str, where: str) -> tuple[str, dict[str, str]]:
    """The name and parameters of the protocol that a text describes. UsageError with the line of what is wrong."""
    read(text, where)
    return custom.NAME, {custom.SCRIPT: text}
