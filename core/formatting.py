"""Numbers, money, times, lists and names as text: the one place that decides how a value reads.

All functions are pure, except that times use the clock and the time zone of this machine. A negative number has a real
minus sign, and an undefined value is an en dash.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from core.documents import storable

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

MISSING = "–"
PRICE_UNKNOWN = "price unknown"

_MINUS = "−"
_DAY = 86_400


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys (escape sequences), and those that turn the direction of writing."""


def printable(text: object) -> str:
    """Return a text with control characters as U+FFFD: names come from files, and messages from servers."""
    return CONTROL.sub("\ufffd", str(text))


def one_line(text: str) -> str:
    """Return an untrusted name or message as one printable line that can be stored."""
    return " ".join(printable(storable(text)).split())


def as_sentence(text: str) -> str:
    """Return the text with a full stop at its end, unless it ends a sentence already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def capitalised(text: str) -> str:
    """Return the text with a capital as its first letter; other letters stay as they are."""
    return text[:1].upper() + text[1:]


_EXPECTED = {
    "tuple_type": "expected a list, such as [one, two]",
    "string_type": "expected text",
    "model_type": "expected fields, such as {name: Food}",
    "missing": "this field is required",
    **dict.fromkeys(("extra_forbidden", "unexpected_keyword_argument"), "this field does not exist"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "expected a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "expected a number"),
}
"""Plain words for pydantic's messages, by type of the error."""


def problem_message(problem: ErrorDetails) -> str:
    """Return the message of a problem that pydantic found, in plain words."""
    return _EXPECTED.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")


def format_problem(error: ValidationError) -> str:
    """Return the first problem that pydantic found as "place > field: message", without an end."""
    problem = error.errors(include_url=False)[0]
    location = " > ".join(one_line(str(step)[:80]) for step in problem["loc"])
    message = problem_message(problem)
    return f"{location}: {message}" if location else message


def plural(count: float, singular: str, several: str | None = None) -> str:
    """Return the form of a word that fits the count, without the count.

    ``several`` defaults to the singular with an s. Verbs work as well: ``plural(n, "repeats", "repeat")``.
    """
    return singular if count == 1 else several or f"{singular}s"


def format_count(count: int, singular: str, several: str | None = None) -> str:
    """Return a count with its noun: "1 document", "1,204 documents", "0 replies"."""
    return f"{count:,} {plural(count, singular, several)}"


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """Return a list as running text: "a", "a and b", "a, b and c". An empty list gives an empty string.

    Of more than ``most`` names, the first ones are written: "a, b and 7 more".
    """
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most:,} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def did_you_mean(name: str, names: Iterable[str], normalise: Callable[[str], str] = str.casefold) -> str:
    """Return a question that suggests the most similar of these names, with a space at its end; empty without one."""
    spellings = {normalise(candidate): candidate for candidate in names}
    near = difflib.get_close_matches(normalise(name.strip()), spellings, 1)
    return f"Did you mean '{spellings[near[0]]}'? " if near else ""


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals: "0.864", "−0.120", "1,204.000"."""
    if value is None:
        return MISSING
    text = f"{abs(value):,.{digits}f}"
    return f"{_MINUS}{text}" if value < 0 and _nonzero(text) else text


def format_signed(value: float | None, digits: int = 3) -> str:
    """Return a difference with its sign: "+0.120", "−0.120", and "0.000" for one that rounds to zero."""
    text = format_number(value, digits)
    return f"+{text}" if value is not None and value > 0 and _nonzero(text) else text


def format_rating(value: float) -> str:
    """Return a point of a rating scale or a mean of ratings, with at most two decimals: "3", "2.67", "−1"."""
    return f"{round(value, 2) + 0.0:g}".replace("-", _MINUS)  # + 0.0: no "−0"


def format_rate(rate: float) -> str:
    """Return a rate, such as documents per minute: "under 0.1", "2.5", "3", "12"."""
    if 0 < rate < 0.05:
        return "under 0.1"
    return f"{round(rate, 1):g}" if rate < 10 else f"{rate:,.0f}"


def format_effect(corrected: int, regressed: int) -> str:
    """Return the effect of a change on decisions: "corrects 4 errors, introduces 1", "changes no decision"."""
    if not corrected and not regressed:
        return "changes no decision"
    if not corrected:
        return f"corrects none, introduces {format_count(regressed, 'error')}"
    return f"corrects {format_count(corrected, 'error')}, introduces {f'{regressed:,}' if regressed else 'none'}"


def format_percent(share: float | None, digits: int = 0) -> str:
    """Return a share (0 to 1) in percent: "86%", "86.4%"."""
    return MISSING if share is None else f"{format_number(100 * share, digits)}%"


def format_points(difference: float | None) -> str:
    """Return a difference of two shares in percentage points, signed and without a unit: "+6.0", "−0.5", "0.0"."""
    return format_signed(None if difference is None else 100 * difference, 1)


def format_p_value(p: float | None) -> str:
    """Return a p value: "p = 0.034", "p < 0.001"."""
    if p is None:
        return MISSING
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def format_money(dollars: float | None) -> str:
    """Return an amount in dollars: "$0.0004", "$0.05", "$12.30", "$12,340". None is "price unknown".

    Amounts below ten cents keep up to four decimals, as a single call often costs less than a cent.
    """
    if dollars is None:
        return PRICE_UNKNOWN
    if dollars >= 999.995:
        return f"${dollars:,.0f}"
    if dollars >= 0.1 or dollars == 0:
        return f"${dollars:.2f}"
    if dollars < 0.0001:
        return "under $0.0001"
    cents, fraction = f"${dollars:.4f}"[:-2], f"{dollars:.4f}"[-2:].rstrip("0")
    return cents + fraction


def format_price(dollars: float | None) -> str:
    """Return the price of something that has not been bought yet: as ``format_money``, and "free" for zero."""
    return "free" if dollars == 0 else format_money(dollars)


def format_cost(dollars: float | None, estimated_calls: int) -> str:
    """Return the cost of a run: "about $1.20" if the cost of some calls is estimated, else as ``format_money``."""
    text = format_money(dollars)
    return f"about {text}" if dollars and estimated_calls and not text.startswith("under") else text


def format_token_price(price: tuple[float, float] | None) -> str:
    """Return the price of a model: "$0.15 in, $0.60 out per million tokens", "free", or "price unknown"."""
    if price is None:
        return PRICE_UNKNOWN
    if not any(price):
        return "free"
    return f"{format_money(price[0])} in, {format_money(price[1])} out per million tokens"


def format_tokens(count: float) -> str:
    """Return a number of tokens in three or four characters: "9,800", "14k", "1.2M"."""
    if count >= 999_500:
        return f"{count / 1e6:,.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else f"{count:,.0f}"


def format_bytes(size: int) -> str:
    """Return the size of a file in decimal units: "12 kB", "3.4 MB", "1.2 GB"; at least "1 kB"."""
    if size >= 1e8:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


def format_duration(seconds: float) -> str:
    """Return a duration: "45 s", "12 min", "1 h 5 min". Anything below a second is "1 s"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def format_eta(seconds: float | None) -> str:
    """Return the time a run still needs: "12 min left", or "estimating" while there is no estimate (None)."""
    return "estimating" if seconds is None else f"{format_duration(seconds)} left"


def format_clock(at: float) -> str:
    """Return the local time of day of a Unix time: "14:05:09"."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def format_date(at: float, *, now: float | None = None) -> str:
    """Return a Unix time as a short local date: "14:05" (today), "Mon 14:05" (last six days), "3 Mar", "3 Mar 2025"."""
    now = time.time() if now is None else now
    then, today = time.localtime(at), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    if 0 <= now - at < 6 * _DAY:
        return time.strftime("%a %H:%M", then)
    return f"{then.tm_mday} {time.strftime('%b' if then.tm_year == today.tm_year else '%b %Y', then)}"


def format_timestamp(at: float) -> str:
    """Return a Unix time as a full local date: "3 Mar 2025, 14:05"."""
    then = time.localtime(at)
    return f"{then.tm_mday} {time.strftime('%b %Y, %H:%M', then)}"


def escape_markdown(text: str) -> str:
    """Return a text as one line of Markdown that is shown as it is: names come from files, versions from servers."""
    return re.sub(r"[\\`*_\[\]<>|$~&]|^(?=[#+-])", r"\\\g<0>", " ".join(text.split()))


def _nonzero(text: str) -> bool:
    return any(digit in text for digit in "123456789")
