"""The exceptions of Moot. Each names what happened, where, and what to do about it.

::

    MootError
    |- UsageError            a command or form has an invalid value
    |  |- NoSuchRun          the project does not have a run
    |  `- NothingChanged     there is no change to test; not a mistake
    |- WorkStopped           the user stopped the work; not a mistake
    |- InputError            a file cannot be read as data
    |- CodebookError         a codebook cannot be used
    |- PromptError           a template cannot be found or rendered
    |- ProjectError          a project file cannot be opened or written
    |  |- ProjectLocked      another process owns it
    |  |- StorageFull        the disk is full or read-only
    |  `- ProjectGone        the open file was deleted, moved, replaced, or is read-only
    |- ExportError           a result cannot be written
    `- ModelError            a model did not answer
       |- stop a run before it starts: Unreachable (OtherProtocol, Redirected), Unauthorised, NoSuchModel
       |- final for this request: ContextTooLong, LengthLimit, Runaway, QuotaSpent, Refused, BadRequest, LongWait,
       |  PaidTwice
       `- can be retried: RateLimited, ServerFault, TimedOut, Stalled, CutStream, MalformedStream, EmptyReply
"""

from __future__ import annotations

import re
from typing import ClassVar


class MootError(Exception):
    """Base class of all errors that a user can act on.

    ``message`` is one sentence with what happened and where, ``remedy`` what to do next (may be empty).
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class UsageError(MootError):
    """A command line or form has an invalid value."""


class NoSuchRun(UsageError):
    """The project does not have this run."""

    def __init__(self, run_id: str, remedy: str = "The Run page and `moot runs` list all runs.") -> None:
        super().__init__(f"Run '{run_id}' does not exist in this project.", remedy)


class NothingChanged(UsageError):
    """There is no change to test. Pages show this as information, not as an error."""


class WorkStopped(MootError):
    """The user stopped the work. Pages show this as information, not as an error."""


class InputError(MootError):
    """A file cannot be read as a table of documents."""


class CodebookError(MootError):
    """A codebook is empty, ambiguous or not valid."""


class PromptError(MootError):
    """A prompt template is missing, malformed or uses a forbidden feature, in ``line`` (0 if unknown)."""

    def __init__(self, message: str, remedy: str = "", *, line: int = 0) -> None:
        super().__init__(message, remedy)
        self.line = line


class ExportError(MootError):
    """A result cannot be written."""


class ProjectError(MootError):
    """A project file cannot be opened, read or written."""


class ProjectLocked(ProjectError):
    """Another process owns the project file; ``pid`` and ``url`` name it if they are known."""

    def __init__(self, path: str, pid: int | None, url: str | None) -> None:
        who = f"open in Moot at {url}" if url else "open in another Moot"
        super().__init__(
            f"{path} is {who} (pid {pid if pid is not None else 'unknown'}).",
            "Stop Moot there, or open another project.",
        )
        self.pid = pid
        self.url = url


class StorageFull(ProjectError):
    """The disk is full or read-only. Earlier acknowledged writes are safe."""


class ProjectGone(ProjectError):
    """The project file was deleted, moved or replaced, or became read-only. The open project has all contents."""


class ModelError(MootError):
    """A model did not answer. Subclasses name the failure.

    ``kind`` names it in stored rows and on screen: the name of the class in words. ``advice`` is the default remedy.
    ``retryable`` is True if the same request can succeed later. ``retry_after`` is the pause in seconds that the server
    asked for, if any.
    """

    kind: ClassVar[str] = "model"
    advice: ClassVar[str] = "Check the message of the server."
    retryable: bool = False

    def __init_subclass__(cls, *, retryable: bool = False) -> None:
        cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__).lower()
        cls.retryable = retryable

    def __init__(self, message: str, remedy: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message, remedy or self.advice)
        self.retry_after = retry_after
        self.status = 0
        """The HTTP status of the response, 0 if there was none or the error came later."""
        self.partial = ""
        """The part of the reply received before the failure."""
        self.billed = (0, 0, 0)
        """Tokens of the prompt, of the partial reply, and of the prompt those that the server took from its cache.

        They are as reported, or estimated by length, as providers bill them. Zeros if nothing was received.
        """
        self.billed_usd: float | None = None
        """The price of these tokens in dollars, if the server stated it."""
        self.server_text = ""
        """The message of the server, if it sent one."""


class Unreachable(ModelError, retryable=True):
    """Nothing listens at the address, or the name does not resolve."""

    advice = "Check that the server is running and that the address is correct."


class OtherProtocol(Unreachable):
    """Something listens at the address, but uses another protocol or an untrusted certificate."""

    advice = "Check whether the address has to begin with http:// or with https://."


class Redirected(Unreachable):
    """The address redirects to another one (3xx). Redirects are never followed."""

    advice = "Redirects are not followed, because they would receive the key. Enter the final address."


class Unauthorised(ModelError):
    """The server refused the key (401, 403)."""

    advice = "Check the key for this connection on the Models page, or in its environment variable."


class NoSuchModel(ModelError):
    """The server does not know the model (404)."""

    advice = "Choose a model that the server lists."


class ContextTooLong(ModelError):
    """The prompt does not fit into the model's context."""

    advice = "Let Moot cut or skip such documents (on_long), shorten them, or choose a model with more context."


class PaidTwice(ModelError):
    """A batch replied to a request whose reply another run had paid for meanwhile."""

    advice = "Resume a run with open batches before another run makes the same requests."


class LengthLimit(ModelError):
    """The output limit was reached while the model was still reasoning."""

    advice = "Raise the max tokens of the role (--param max_tokens=N), or lower its reasoning effort."


class Runaway(ModelError):
    """The reply exceeded its limit of characters, lines or seconds. Sending the request again would cost the same."""

    advice = "The server may ignore max_tokens. --param max_tokens=N or --param deadline=SECONDS allows a longer reply."


class QuotaSpent(ModelError):
    """The account has no credit left. Waiting does not help."""

    advice = "Add credit with the provider, then resume the run."


class Refused(ModelError):
    """The model or a content filter declined to answer."""

    advice = "Try another model for this document."


class BadRequest(ModelError):
    """The server rejected the request for another reason (other 4xx)."""

    advice = "Check the message of the server: a parameter of the role may not be supported by this model."


class RateLimited(ModelError, retryable=True):
    """Too many requests (429)."""

    advice = "Lower the calls at once, or set the connection's limits on the Models page."


class LongWait(ModelError):
    """The server asks to wait longer than a run waits (429 or 503 with such a Retry-After)."""

    advice = "Resume the run when the server accepts calls again."


class ServerFault(ModelError, retryable=True):
    """The server failed (5xx, or an error event in the stream)."""

    advice = "The server may recover; its log shows the cause."


class TimedOut(ModelError, retryable=True):
    """No first token within the time allowed."""

    advice = "It may still be loading the model; --param silence=SECONDS waits longer."


class Stalled(ModelError, retryable=True):
    """The stream stopped in the middle of the reply."""

    advice = "The server hangs or is overloaded. Fewer calls at once or --param silence=SECONDS may help."


class CutStream(ModelError, retryable=True):
    """The connection closed before the reply ended."""

    advice = "Check for a proxy with a time limit, and whether the server stopped."


class MalformedStream(ModelError, retryable=True):
    """The server sent data that does not follow the protocol."""

    advice = "Check the address, which for most servers ends in /v1, and that the server supports this API."


class EmptyReply(ModelError, retryable=True):
    """The reply is empty."""

    advice = (
        "Try another model or other sampling settings. Some servers reply with nothing to a prompt that is too long: "
        "start them with more context."
    )
