"""The one tree of exceptions. Each says what happened, where, and what to do about it.

::

    MootError
    |- UsageError            a command or form was filled in wrongly
    |  `- NothingChanged     there is nothing to try yet: no fault
    |- InputError            a file cannot be read as data
    |- CodebookError         a codebook cannot be used
    |- PromptError           a template cannot be found or rendered
    |- ProjectError          a project file cannot be opened or written
    |  |- ProjectLocked      another process owns it
    |  `- StorageFull        the disk refused a write
    |- ExportError           a result cannot be written
    `- ModelError            a model did not answer
       |- Unreachable (OtherProtocol), Unauthorised, NoSuchModel      stop a run before it starts
       |- ContextTooLong, LengthLimit, QuotaSpent, Refused, BadRequest   final for this ask
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


class NoSuchRun(UsageError):
    """A run that the project does not have."""

    def __init__(self, run_id: str, remedy: str = "The Run page lists them, and so does: moot runs") -> None:
        super().__init__(f"There is no run '{run_id}' in this project.", remedy)


class NothingChanged(UsageError):
    """What was to be tried is what stands already. Nobody did anything wrong: the page says so without red."""


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

    ``kind`` names the failure in stored rows and on the screen; ``advice`` is the remedy where none closer to the case
    is known; ``retryable`` says whether asking the same again can help; ``retry_after`` is the pause in seconds that
    the server asked for, if it did.
    """

    kind: ClassVar[str] = "model"
    advice: ClassVar[str] = "Look at what the server says."
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, remedy: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message, remedy or self.advice)
        self.retry_after = retry_after
        self.partial = ""
        """What had come before the failure."""
        self.billed = (0, 0)
        """Tokens of the prompt and of what had come, as the server told or by their length: it bills them all the same.
        Zeros where nothing had come."""
        self.said = ""
        """The server's own words, as far as it had any."""


class Unreachable(ModelError):
    """Nothing listens at the address, or the name does not resolve."""

    kind = "unreachable"
    advice = "Is the server running, and is the address right?"
    retryable = True


class OtherProtocol(Unreachable):
    """Something listens at the address, but speaks another protocol, or shows a certificate that is not trusted."""

    kind = "other protocol"
    advice = "Check whether the address has to begin with http:// or with https://."
    retryable = False


class Unauthorised(ModelError):
    """The server refused the key (401, 403)."""

    kind = "unauthorised"
    advice = "Check the key for this connection on the Models page, or in its environment variable."


class NoSuchModel(ModelError):
    """The server does not know the model (404)."""

    kind = "no such model"
    advice = "Choose a model that the server lists."


class ContextTooLong(ModelError):
    """The prompt does not fit into the model's context."""

    kind = "context too long"
    advice = "Let Moot cut or skip such documents (on_long), shorten them, or choose a model with more context."


class LengthLimit(ModelError):
    """The output limit was reached before a word was said: the model was still thinking."""

    kind = "length limit"
    advice = "Raise the seat's max tokens (--param max_tokens=N), or lower its reasoning effort."


class QuotaSpent(ModelError):
    """The account has no credit left. Waiting does not help."""

    kind = "quota spent"
    advice = "Add credit with the provider, then go on with the run."


class Refused(ModelError):
    """The model or a content filter declined to answer."""

    kind = "refused"
    advice = "Another model may take this document."


class BadRequest(ModelError):
    """The server rejected the request for another reason (other 4xx)."""

    kind = "bad request"
    advice = "Look at what the server says: a parameter of the seat may not suit this model."


class RateLimited(ModelError):
    """Too many requests (429)."""

    kind = "rate limited"
    advice = "Lower the calls at once, or set the connection's limits on the Models page."
    retryable = True


class ServerFault(ModelError):
    """The server failed (5xx, or an error event in the stream)."""

    kind = "server fault"
    advice = "The server may recover; its own log says what is wrong."
    retryable = True


class TimedOut(ModelError):
    """No first token within the time allowed."""

    kind = "timed out"
    advice = "It may still be loading the model; --param silence=SECONDS waits longer."
    retryable = True


class Stalled(ModelError):
    """The stream went silent in the middle."""

    kind = "stalled"
    advice = "The server hangs or has too much to do. Fewer calls at once or --param silence=SECONDS may help."
    retryable = True


class CutStream(ModelError):
    """The connection closed before the reply ended."""

    kind = "cut stream"
    advice = "Something between here and the server closes connections: a proxy's time limit, or the server ended."
    retryable = True


class MalformedStream(ModelError):
    """The server sent something that is not the protocol."""

    kind = "malformed stream"
    advice = "Check the address, which for most servers ends in /v1, and that the server speaks this API."
    retryable = True


class EmptyReply(ModelError):
    """The reply ended without a word."""

    kind = "empty reply"
    advice = "Another model, or other sampling, may help."
    retryable = True
