"""The one tree of exceptions. Each says what happened, where, and what to do about it.

::

    MootError
    |- UsageError            a command or form was filled in wrongly
    |- InputError            a file cannot be read as data
    |- CodebookError         a codebook cannot be used
    |- PromptError           a template cannot be found or rendered
    |- ProjectError          a project file cannot be opened or written
    |  |- ProjectLocked      another process owns it
    |  `- StorageFull        the disk refused a write
    |- ExportError           a result cannot be written
    `- ModelError            a model did not answer
       |- Unreachable, Unauthorised, NoSuchModel      stop a run before it starts
       |- ContextTooLong, QuotaSpent, Refused, BadRequest   final for this ask
       `- RateLimited, ServerFault, TimedOut, Stalled, CutStream, MalformedStream, EmptyReply   worth another try
"""

from __future__ import annotations

from typing import ClassVar


class MootError(Exception):
    """Base of all errors that a person can act on.

    ``message`` says what and where in one sentence, ``remedy`` what to do next (may be empty).
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class UsageError(MootError):
    """A command line or a form was filled in wrongly."""


class InputError(MootError):
    """A file cannot be read as a table of documents."""


class CodebookError(MootError):
    """A codebook is empty, ambiguous or not valid."""


class PromptError(MootError):
    """A prompt template is missing, malformed or asks for something it may not have. ``line`` is where, 0 when no line
    is to blame."""

    def __init__(self, message: str, remedy: str = "", *, line: int = 0) -> None:
        super().__init__(message, remedy)
        self.line = line


class ExportError(MootError):
    """A result cannot be written."""


class ProjectError(MootError):
    """A project file cannot be opened, read or written."""


class ProjectLocked(ProjectError):
    """Another process owns the project file. ``pid`` and ``url`` say which, as far as it left a note."""

    def __init__(self, path: str, pid: int | None, url: str | None) -> None:
        who = f"open in Moot at {url}" if url else "open in another Moot"
        super().__init__(
            f"{path} is {who} (pid {pid if pid is not None else 'unknown'}):",
            "close it there, or use another --project.",
        )
        self.pid = pid
        self.url = url


class StorageFull(ProjectError):
    """The disk refused a write. What was acknowledged before is safe."""


class ModelError(MootError):
    """A model did not answer. Subclasses say in which way.

    ``kind`` names the failure in stored rows and on the screen; ``retryable`` says whether asking the same again can
    help; ``retry_after`` is the pause in seconds that the server asked for, if it did.
    """

    kind: ClassVar[str] = "model"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, remedy: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message, remedy)
        self.retry_after = retry_after
        self.partial = ""
        """What had come before the failure; its tokens may have been billed."""


class Unreachable(ModelError):
    """Nothing listens at the address, or the name does not resolve."""

    kind = "unreachable"
    retryable = True


class Unauthorised(ModelError):
    """The server refused the key (401, 403)."""

    kind = "unauthorised"


class NoSuchModel(ModelError):
    """The server does not know the model (404)."""

    kind = "no such model"


class ContextTooLong(ModelError):
    """The prompt does not fit into the model's context."""

    kind = "context too long"


class QuotaSpent(ModelError):
    """The account has no credit left. Waiting does not help."""

    kind = "quota spent"


class Refused(ModelError):
    """The model or a content filter declined to answer."""

    kind = "refused"


class BadRequest(ModelError):
    """The server rejected the request for another reason (other 4xx)."""

    kind = "bad request"


class RateLimited(ModelError):
    """Too many requests (429)."""

    kind = "rate limited"
    retryable = True


class ServerFault(ModelError):
    """The server failed (5xx, or an error event in the stream)."""

    kind = "server fault"
    retryable = True


class TimedOut(ModelError):
    """No first token within the time allowed."""

    kind = "timed out"
    retryable = True


class Stalled(ModelError):
    """The stream went silent in the middle."""

    kind = "stalled"
    retryable = True


class CutStream(ModelError):
    """The connection closed before the reply ended."""

    kind = "cut stream"
    retryable = True


class MalformedStream(ModelError):
    """The server sent something that is not the protocol."""

    kind = "malformed stream"
    retryable = True


class EmptyReply(ModelError):
    """The reply ended without a word."""

    kind = "empty reply"
    retryable = True
