"""Map a server's failure to the error that names the remedy."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote
from urllib.request import getproxies_environment

import aiohttp
import orjson

from core import errors
from core.errors import ModelError
from core.formatting import as_sentence, one_line
from core.runs import RoleModel

_CONTEXT = re.compile(
    r"context.{0,20}(length|size|window|limit)|exceed_context_size|maximum context|too many (input )?tokens|"
    r"tokens in request more than|"
    r"(prompt|input|request|messages?|text|query|sequence|conversation|tokens)\b.{0,30}too long|超长|"
    r"max(imum)? (prompt|model|input|sequence) length|(input|prompt) (is )?longer than|max_seq_len|\bn_keep\b|"
    r"exceeds? the (available |model )?context|exceeded model token limit|prompt length.{0,60}exceed|max input char|"
    r"number of input tokens.{0,30}exceed|token count.{0,30}(exceed|but model only)|"
    r"reduce the (length|number|size)|request too large|must be reduced|"
    r"`?inputs`? (tokens? \+|must have less than)|range of input length|input tokens exceed|string_above_max_length|"
    r"too large to process",
    re.IGNORECASE,
)
_NOT_PROMPT = re.compile(r"\A\W*max_\w*tokens\W* must be|\bcompiled grammar is too large", re.IGNORECASE)
"""A refused output limit, which may name the context, too, and a refused schema (Claude)."""
_CUT = re.compile(r"output limit was reached|try again with (a )?higher max_tokens", re.IGNORECASE)
_FULL = re.compile(r"context size has been exceeded", re.IGNORECASE)
_QUOTA = re.compile(
    r"exceeded your (current )?quota|billing|credit balance|payment required|spending (limit|cap)|in good standing|"
    r"any credits|\b(insufficient|not[ _]enough|out of)[ _](\w+[ _])?(quota|balance|credit|fund)|budget_exceeded|"
    r"(quota|balance|credits?|funds?) (is |are )?(insufficient|not enough|used up|exhausted|depleted)|API usage limit|"
    r"(session|hourly|daily|weekly|monthly) (\w+ )?(allocation|limit|quota)|\bper[- ]day\b|(余额|额度)不足",
    re.IGNORECASE,
)
_THROTTLED = re.compile(r"throttl|too many (tokens|requests), please wait|error-code#token-limit", re.IGNORECASE)
"""Words of Bedrock and DashScope for a rate limit, which other servers use for other errors, or statuses of others."""
_FILTER = re.compile(
    r"content[ _]filter|content_policy|content policy|safety system|content management policy|responsible_?ai|"
    r"violates? (our )?usage (guidelines|polic)|input was flagged|flagged (as|for (potential|possibl))|"
    r"\b(bio|cyber)_policy|moderation|inappropriate content|敏感内容",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(api[ _-]?key|(access|auth\w*|bearer) token|credentials?)\b.{0,30}"
    r"(invalid|not valid|incorrect|expired|missing|revoked|required)|"
    r"(invalid|incorrect|expired|missing|no|wrong|unknown)\s.{0,20}api[ _-]?key|api_key_invalid|invalid_api_key"
    r"|authentication error|no_db_connection",
    re.IGNORECASE,
)
_PROVIDER_KEY = re.compile(r"litellm\.(Authentication|PermissionDenied)Error")
_PROVIDER_KEY_REMEDY = (
    "The proxy accepted the key of this connection. Correct the provider's key in the configuration of the proxy."
)
_REGION = re.compile(
    r"(country|region|territory|location)\b.{0,40}(not |un)(supported|available)|"
    r"(not (supported|available|permitted|allowed)|unsupported|unavailable) (in|for|from) (your|this|the) "
    r"(country|region|territory|location)",
    re.IGNORECASE,
)
_REGION_REMEDY = "The provider does not serve this region. Choose a connection to another provider or a local model."
_BLOCKED_REMEDY = "A firewall of the provider or of your network may block this computer. Check also the key."
_MEMORY = re.compile(r"out of memory|(more|enough|insufficient) (system |gpu |video )?memory", re.IGNORECASE)
_MEMORY_REMEDY = "Free memory where the model runs, or choose a smaller model or less context."
_LOADING = re.compile(r"(?<!error )(?<!failed )\bloading\b", re.IGNORECASE)
_LOADING_REMEDY = "The server is still loading the model. Resume the run when the model is loaded."
_BARE_FAULT_REMEDY = "Its log shows the cause. Some servers answer like this to a missing key or an unknown model."
_LOADING_SECONDS = 10.0
"""Wait for a server that is loading its model and names no time."""
_WAIT = re.compile(
    r"\b(?:(?:again|retry) (?:in|after)|wait(?: for)?) ((?:[\d.]+ ?(?:ms|milli\w*|h\w*|m(?:in\w*)?|s\w*)(?![a-z]) ?)+)",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "mi": 60.0, "m": 60.0, "h": 3600.0, "s": 1.0}
_MARKUP = re.compile(r"<(script|style)\b(?:.*?</\1>|.*)|<[^>]*>?", re.IGNORECASE | re.DOTALL)
_FAULT = re.compile(
    r"tool_use_failed|output_parse_failed|\bmodel (has )?crashed|\bmodel (is )?unloaded|failed to load model",
    re.IGNORECASE,
)
"""A fault of the server or of its model that comes with status 400, as from Groq and LM Studio."""
_HTTPS = re.compile(r"HTTP request\b.{0,20}\bto (an )?HTTPS", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|model_not_available|not a valid model|\bmodel identifier\b.{0,20}\binvalid|"
    r"(unknown|invalid|no such|unsupported) model\b(?! (param|option|feature|setting))|"
    r"server is pinned to|allowed now, your model|"
    r"\bmodel\b[\s:]*[`'\"]?[\w./:@-]*[`'\"]?,?\s*((does )?not exist|(is |was |could |can)?not (be )?found|"
    r"is not (available|loaded|supported|served))|"
    r"\bmodel\b.{0,80}(decommissioned|deprecated|no longer (supported|available))|"
    r"(access to|have access).{0,20}\bmodel\b|no healthy deployments for this model",
    re.IGNORECASE,
)
_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)
ADDRESS_REMEDY = "Check the address, which for most servers ends in /v1, and the model."
_NO_HEADERS: Mapping[str, str] = {}
_MAX_MESSAGE_CHARACTERS = 500
"""Characters of a server's message that are kept."""
_MAX_RETRY_AFTER_SECONDS = 300.0
"""Longest accepted Retry-After in seconds."""

_EPOCHS = (1e9, 1e11)
"""From the first number on a time is a Unix time in seconds, from the second one on in milliseconds."""

_MIN_KEY_CHARACTERS = 8
"""Shortest key in characters that is redacted. A shorter key is a placeholder such as ``none``, a common word."""

_KEY_START_CHARACTERS = 12
"""Characters at the start of a key that identify it in a message that was truncated within the key."""


def redacted(text: str, key: str | None) -> str:
    """Return ``text`` without the key, whole or truncated, as it is or in a URL, in case a server echoed it."""
    for form in _key_forms(key):
        text = _without_key(text, form)
    return text


def _key_forms(key: str | None) -> tuple[str, ...]:
    """Return how a key may be written; nothing for a placeholder."""
    if not key or len(key) < _MIN_KEY_CHARACTERS:
        return ()
    return tuple(dict.fromkeys((key, quote(key), quote(key, safe=""))))


class RedactedStream:
    """Filter of a streamed text that removes the key, also if it comes in several pieces."""

    def __init__(self, key: str | None) -> None:
        self._key = key
        self._forms = _key_forms(key)
        self._held = ""

    def __call__(self, piece: str) -> str:
        """Return the next text without the key. An end that may be the start of a key waits for the next piece."""
        text = self._held + piece
        end = min((_start_of_key(text, form) for form in self._forms), default=len(text))
        self._held = text[end:]
        return redacted(text[:end], self._key)


def _start_of_key(text: str, key: str) -> int:
    """Return where the longest end of a text begins that a key begins with; the length of the text without one."""
    at = text.find(key[0], max(0, len(text) - len(key) + 1))
    while at >= 0 and not key.startswith(text[at:]):
        at = text.find(key[0], at + 1)
    return len(text) if at < 0 else at


def _without_key(text: str, key: str) -> str:
    start = key[:_KEY_START_CHARACTERS]
    parts, position = [], 0
    while (at := text.find(start, position)) >= 0:
        excerpt = text[at : at + len(key)]
        parts += [text[position:at], "[key]"]
        position = at + next((i for i, (a, b) in enumerate(zip(excerpt, key, strict=False)) if a != b), len(excerpt))
    return "".join([*parts, text[position:]])


def hide_key(error: ModelError, key: str | None) -> None:
    """Remove the key from an error and drop its cause, which contains the server's own text."""
    error.message, error.remedy = redacted(error.message, key), redacted(error.remedy, key)
    error.partial, error.server_text = redacted(error.partial, key), redacted(error.server_text, key)
    error.args = (error.message, error.remedy)
    error.__cause__, error.__suppress_context__ = None, True


def parse_error_body(body: bytes) -> tuple[str, str]:
    """Return (message, code) from an error body in any usual form, else the beginning of the body."""
    try:
        data: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body.decode("utf-8", "replace")
        page = " ".join(_MARKUP.sub(" ", text).split()) if text.lstrip().startswith("<") else ""
        return server_message(page or text), ""
    text, code = _picked(data)
    return text or server_message(body[:_MAX_MESSAGE_CHARACTERS].decode("utf-8", "replace")), code


def server_message(text: object) -> str:
    """Return the beginning of a server's message as one printable line."""
    return one_line(str(text)[:_MAX_MESSAGE_CHARACTERS])


def _picked(data: Any) -> tuple[str, str]:
    """Return (message, code) of an error. The message is empty if it is in an unusual place."""
    if isinstance(data, list) and data:
        data = data[0]
    if isinstance(data, dict) and isinstance(data.get("detail"), dict):
        data = data["detail"]  # of FastAPI, around the error of a proxy
    if not isinstance(data, dict):
        return server_message(data), ""
    error = data.get("error")
    inner = error if isinstance(error, dict) else data
    text = inner.get("message") or inner.get("detail") or data.get("message") or data.get("detail") or ""
    if error and error is not True and inner is data:
        # The message, or the name of the status before it, as from NestJS and Spring.
        text = f"{error}: {text}" if text else error
    routed = inner.get("metadata")  # OpenRouter passes on the message of a provider
    if isinstance(routed, dict) and routed.get("raw"):
        text = f"{text}: {routed['raw']}"
    code = server_message(" ".join(str(inner[key]) for key in ("code", "type", "param") if inner.get(key)))
    return server_message(text) or (code if "message" in inner else ""), code


def _stated_wait(status: int, headers: Mapping[str, str], message: str) -> float | None:
    """Return the wait in seconds that the server asks for, which may be negative or infinite, None without any.

    Sources are ``retry-after-ms``, ``Retry-After`` (seconds or date; LiteLLM puts ``llm_provider-`` before the name),
    ``X-RateLimit-Reset`` of a 429 (seconds, or a Unix time in seconds or milliseconds; some servers send that of a
    day's quota with every response) and the message ("Please try again in 1m26.4s").
    """
    after = headers.get("retry-after") or headers.get("llm_provider-retry-after", "")
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if (seconds := _number(after)) is not None:
        return seconds
    now = datetime.now(UTC)
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        moment = parsedate_to_datetime(after)
        return (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    if status == 429 and (reset := _number(headers.get("x-ratelimit-reset", ""))) is not None:
        return reset if reset < _EPOCHS[0] else reset / (1 if reset < _EPOCHS[1] else 1000) - now.timestamp()
    match = _WAIT.search(f"retry after {after}") or _WAIT.search(message)
    parts = re.findall(r"([\d.]+) ?(ms|mi|[hms])", match[1].casefold().replace("milli", "ms")) if match else []
    return sum((_number(number) or 0.0) * _UNITS[unit] for number, unit in parts) if parts else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def from_status(status: int, body: bytes, headers: Mapping[str, str], role_model: RoleModel) -> ModelError:
    """Return the error for an HTTP status other than 200 and 201."""
    if 300 <= status < 400:
        target = server_message(headers.get("location", "another place"))
        return errors.Redirected(f"{role_model.connection} is unreachable: redirects to {target} (status {status}).")
    text, code = parse_error_body(body)
    answered = f"{role_model.connection} answered {status} for {role_model.model}"
    error = _error(status, answered, text, code, headers)
    error.status = status
    if body.lstrip().startswith(b"<"):  # a web page, whatever it says of models
        if isinstance(error, errors.NoSuchModel):
            error.remedy = ADDRESS_REMEDY
        elif status == 403 and error.remedy == errors.Unauthorised.advice:
            error.remedy = _BLOCKED_REMEDY
    return error


def _error(status: int, problem: str, text: str, code: str, headers: Mapping[str, str] = _NO_HEADERS) -> ModelError:
    """Return the error for a status: ``problem``, the server's text and code, and the headers of its response."""
    server_text, wait = f"{text} {code}".strip(), _stated_wait(status, headers, text)
    error = _classify(status, as_sentence(f"{problem}: {text}" if text else problem), server_text, wait)
    error.server_text = server_text
    return error


def _classify(status: int, message: str, server_text: str, wait: float | None) -> ModelError:
    """Return the error for a status and the text of the server with its code; ``message`` describes the error."""
    rejected = status in (400, 403, 412, 422)
    pause = None if wait is None else min(max(wait, 0.0), _MAX_RETRY_AFTER_SECONDS)
    # Gemini names its limit per minute a quota, too.
    throttled = bool(_THROTTLED.search(server_text))
    passing = throttled or (
        status == 429
        and wait is not None
        and wait <= _MAX_RETRY_AFTER_SECONDS
        and "insufficient_quota" not in server_text
    )
    if status == 402 or ((rejected or status == 429) and _QUOTA.search(server_text) and not passing):
        return errors.QuotaSpent(message)
    if status == 400 and _HTTPS.search(server_text):
        return errors.OtherProtocol(message, "Enter the address with https:// instead of http://.")
    if throttled and (status == 400 or status >= 500):
        return errors.RateLimited(message, retry_after=pause)
    if rejected and _FILTER.search(server_text):
        return errors.Refused(message)
    if rejected and _NO_MODEL.search(server_text) and not _CONTEXT.search(server_text):
        return errors.NoSuchModel(message)
    if rejected and _REGION.search(server_text):
        return errors.Unauthorised(message, _REGION_REMEDY)
    if status in (401, 403) or (status == 400 and _KEY.search(server_text)):
        return errors.Unauthorised(message, _PROVIDER_KEY_REMEDY if _PROVIDER_KEY.search(server_text) else "")
    if status in (404, 405, 410):
        return errors.NoSuchModel(message, "" if _MODEL.search(server_text) else ADDRESS_REMEDY)
    if status == 413 or (status in (400, 422, 429, 500) and _too_long(status, server_text)):
        return errors.ContextTooLong(message)
    if status in (429, 503) and wait is not None and wait > _MAX_RETRY_AFTER_SECONDS:
        longest = f"the {_MAX_RETRY_AFTER_SECONDS:.0f} s that Moot waits at most"
        return errors.LongWait(f"{message} It asks to wait longer than {longest}.")
    if status == 429:
        return errors.RateLimited(message, retry_after=pause)
    is_fault = status in (408, 409, 424, 425, 498, 499) or (status >= 500 and status != 501)  # 501: never implemented
    if is_fault or (status == 400 and _FAULT.search(server_text)):
        pause = _LOADING_SECONDS if pause is None and _LOADING.search(server_text) else pause
        return errors.ServerFault(message, _remedy(server_text), retry_after=pause)
    if status < 300:
        return errors.MalformedStream(message, ADDRESS_REMEDY)
    return errors.BadRequest(message)


def is_cut(error: ModelError) -> bool:
    """Return True if a server refuses to send a reply because it reached its output limit, as OpenAI does."""
    return bool(_CUT.search(error.server_text))


def is_context_full(error: ModelError) -> bool:
    """Return True if a context is full that the calls to a llama.cpp server may share; it then ends all of them."""
    return isinstance(error, errors.ContextTooLong) and bool(_FULL.search(error.server_text))


def _too_long(status: int, server_text: str) -> bool:
    """Return True if the prompt is too long. Rate limits mention too many tokens, too."""
    if status == 429:
        return bool(re.search(r"request too large|must be reduced", server_text, re.IGNORECASE))
    return bool(_CONTEXT.search(server_text)) and not _NOT_PROMPT.search(server_text)


_EVENTS = {
    # It may name too many tokens, and it is not part of an address.
    429: re.compile(rf"(?<![a-z/])rate.?limit|{_THROTTLED.pattern}", re.IGNORECASE),
    413: _CONTEXT,
    404: re.compile("unexpected endpoint", re.IGNORECASE),  # LM Studio, to an address without /v1
    402: re.compile("insufficient_quota"),
    401: _KEY,
    400: re.compile(rf"invalid_request_error|json_validate_failed|{_FILTER.pattern}", re.IGNORECASE),
}
"""Status of an error event without one, by its words."""


def from_event(event: Any, role_model: RoleModel) -> ModelError:
    """Return the error for an error event in a stream that began with 200."""
    text, code = _picked(event)
    text = text or server_message(event)
    stated = str(event.get("code")) if isinstance(event, dict) else ""
    by_words = (status for status, words in _EVENTS.items() if words.search(f"{text} {code}"))
    if re.fullmatch(r"[45]\d\d", stated):
        return _error(int(stated), f"{role_model.connection} answered {stated} for {role_model.model}", text, code)
    stopped = f"{role_model.connection} stopped in mid-stream"
    if status := next(by_words, 0):
        return _error(status, stopped, text, code)
    return errors.ServerFault(as_sentence(f"{stopped}: {text}"), _remedy(text))


def _remedy(text: str) -> str:
    """Return the remedy for a server fault if its message shows one, else an empty text."""
    if text == "Internal Server Error":
        return _BARE_FAULT_REMEDY
    return _MEMORY_REMEDY if _MEMORY.search(text) else _LOADING_REMEDY if _LOADING.search(text) else ""


_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for an answer that is not TLS."""
_CERTIFICATE_FAULTS = {
    9: ("it is not valid yet", "Check the clock of this machine."),
    10: ("it has expired", "Renew the certificate of the server, or check the clock of this machine."),
    62: ("it names another server", "Enter the address with the name that the certificate names."),
    64: ("it names another server", "Enter the address with the name that the certificate names."),
}
"""Meaning and remedy of OpenSSL's codes of certificate faults."""
_UNKNOWN_SIGNER = (
    "this machine does not know its signer",
    "Save the signer's certificate as a PEM file, for a self-signed certificate the certificate itself, "
    "and restart Moot with the environment variable SSL_CERT_FILE set to the path of this file.",
)
_NO_PROXY = (
    f"{errors.Unreachable.advice} Moot does not use a proxy, although HTTPS_PROXY or a similar variable is set: this "
    "machine must reach the address directly."
)


def not_connected(server: str, error: BaseException, action: str = "") -> errors.Unreachable:
    """Return the error for a connection that was not opened; ``action`` completes "cannot be reached to ..."."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS:
            return errors.OtherProtocol(
                f"{server} speaks plain HTTP.", "Enter the address with http:// instead of https://."
            )
        if isinstance(cause, ssl.SSLCertVerificationError):
            meaning, remedy = _CERTIFICATE_FAULTS.get(cause.verify_code, _UNKNOWN_SIGNER)
            reason = server_message(cause.verify_message).rstrip(".")
            return errors.OtherProtocol(
                f"{server} shows a certificate that is not trusted: {meaning} ({reason}).", remedy
            )
    purpose = f" to {action}" if action else ""
    message = f"{server} cannot be reached{purpose} ({describe_cause(error)})."
    is_refused = any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))  # then it can be reached
    remedy = "" if is_refused or not getproxies_environment().keys() & {"http", "https", "all"} else _NO_PROXY
    return errors.Unreachable(message, remedy)


def describe_cause(error: BaseException) -> str:
    """Return the cause of a failed connection, in the system's words rather than in those of the library."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return "the name of the server is unknown"
        if isinstance(cause, aiohttp.ClientPayloadError):
            return "in the middle of the reply"
        if isinstance(cause, ssl.SSLError):
            break  # its number is one of OpenSSL, not of the system
        if isinstance(cause, OSError) and cause.errno is not None and cause.errno in errno.errorcode:
            # strerror of C does not know the numbers of Windows
            is_windows = getattr(cause, "winerror", None) is not None
            return str(cause.strerror if is_windows else os.strerror(cause.errno)).lower()
    return (str(causes[0]).rstrip(".") or type(causes[0]).__name__)[:200]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, each without the exception of aiohttp around it."""
    following: BaseException | None = error
    while following is not None:
        cause: BaseException = getattr(following, "os_error", getattr(following, "certificate_error", following))
        yield cause
        following = cause.__cause__ or cause.__context__
