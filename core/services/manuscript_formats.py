"""Write a manuscript as Markdown, HTML or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

from core.formatting import escape_markdown

Form: TypeAlias = Literal["markdown", "html", "latex"]
SUFFIXES: Mapping[Form, str] = {"markdown": ".md", "html": ".html", "latex": ".tex"}


@dataclass(frozen=True, slots=True)
class ManuscriptTable:
    """A table. ``view`` is the address of the page with these numbers, relative to the studio; empty for none."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    view: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A text that is shown as it is, such as a prompt."""

    title: str
    text: str


Block: TypeAlias = str | ManuscriptTable | Listing
"""A paragraph, a table, or a listing."""


@dataclass(frozen=True, slots=True)
class Manuscript:
    """Sections with their blocks, and the references as BibTeX entries by key."""

    title: str
    sections: Mapping[str, tuple[Block, ...]]
    bibliography: Mapping[str, str]

    @property
    def bibtex(self) -> str:
        """The references as a BibTeX file."""
        return "\n\n".join(self.bibliography.values()) + "\n"


def write(manuscript: Manuscript, form: Form, *, base: str = "") -> str:
    """Return the paper as a document; ``base`` is put before the addresses of views (LaTeX has no links)."""
    match form:
        case "markdown":
            return "\n\n".join(_markdown(manuscript, base)) + "\n"
        case "html":
            body = "\n".join(_html(manuscript, base))
            wrap = "<style>pre { white-space: pre-wrap; }</style>"  # else print cuts the long lines of prompts
            head = f'<meta charset="utf-8"><title>{escape(manuscript.title)}</title>{wrap}'
            return f'<!doctype html>\n<html lang="en">{head}\n{body}\n</html>\n'
        case "latex":
            return "\n\n".join(_latex(manuscript)) + "\n"


def _markdown(manuscript: Manuscript, base: str) -> Iterable[str]:
    yield f"# {escape_markdown(manuscript.title)}"
    for title, blocks in manuscript.sections.items():
        yield f"## {escape_markdown(title)}"
        for block in blocks:
            match block:
                case str():
                    yield "\n\n".join(map(escape_markdown, block.split("\n\n")))
                case Listing():
                    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
                    yield f"### {escape_markdown(block.title)}\n\n{fence}text\n{block.text}\n{fence}"
                case ManuscriptTable():
                    rule = "|" + " --- |" * len(block.head)
                    lines = ["| " + " | ".join(map(escape_markdown, row)) + " |" for row in (block.head, *block.rows)]
                    lines.insert(1, rule)
                    link = f" ([view]({base}{block.view}))" if block.view else ""
                    yield f"{escape_markdown(block.caption)}{link}:\n\n" + "\n".join(lines)
    yield f"## References\n\n```bibtex\n{manuscript.bibtex}```"


def _html(manuscript: Manuscript, base: str) -> Iterable[str]:
    yield f"<h1>{escape(manuscript.title)}</h1>"
    for title, blocks in manuscript.sections.items():
        yield f"<h2>{escape(title)}</h2>"
        for block in blocks:
            match block:
                case str():
                    yield f"<p>{escape(block)}</p>"
                case Listing():
                    yield f"<h3>{escape(block.title)}</h3><pre>{escape(block.text)}</pre>"
                case ManuscriptTable():
                    yield html_table(block, base)
    yield f"<h2>References</h2><pre>{escape(manuscript.bibtex)}</pre>"


def html_table(block: ManuscriptTable, base: str = "", *, css: str = "") -> str:
    """Return a table as HTML with every number linked to its view; ``css`` is the class of the table."""

    def cell(text: str) -> str:
        linked = block.view and re.search(r"\d", text)
        return f'<a href="{escape(base + block.view)}">{escape(text)}</a>' if linked else escape(text)

    head = "".join(f"<th>{escape(name)}</th>" for name in block.head)
    rows = "".join(
        f"<tr><td>{escape(row[0])}</td>{''.join(f'<td>{cell(text)}</td>' for text in row[1:])}</tr>"
        for row in block.rows
    )
    caption = f"<caption>{escape(block.caption)}</caption>"
    return (
        f"<table{f' class={css!r}' if css else ''}>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "[": "{[}", "]": "{]}", "*": "{*}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "−": "$-$",
}  # fmt: skip
"""LaTeX of special characters. Brackets and asterisks after the end of a row would be options of the line break.

pdfLaTeX has no minus sign in text: it stops, or leaves the sign out.
"""


def _tex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _visible(text))


def _visible(text: str) -> str:
    """Return a text without characters that TeX skips: with one of them inside it, a command looks like other text."""
    return "".join(letter for letter in text if letter.isprintable() or letter in " \n\t")


def _latex(manuscript: Manuscript) -> Iterable[str]:
    title = " ".join(manuscript.title.split())  # TeX ends a line, and with it a comment, at a carriage return too
    yield f"% {title}\n% needs \\usepackage{{booktabs}}"
    for title, blocks in manuscript.sections.items():
        yield f"\\section*{{{_tex(title)}}}"
        for block in blocks:
            match block:
                case str():
                    yield _tex(block)
                case Listing():
                    text = _visible(block.text).replace("\\end{verbatim}", "\\ end{verbatim}")
                    yield f"\\paragraph{{{_tex(block.title)}}}\n\\begin{{verbatim}}\n{text}\n\\end{{verbatim}}"
                case ManuscriptTable():
                    yield _latex_table(block)
    yield f"\\nocite{{{','.join(manuscript.bibliography)}}}\n\\bibliographystyle{{plain}}\n\\bibliography{{moot}}"


def _latex_table(block: ManuscriptTable) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(_tex(" ".join(cell.split())) for cell in cells) + r" \\"

    rows = "\n".join(line(row) for row in block.rows)
    return (
        f"\\begin{{table}}[h]\n\\centering\n\\caption{{{_tex(block.caption)}}}\n"
        f"\\begin{{tabular}}{{l{'r' * (len(block.head) - 1)}}}\n\\toprule\n{line(block.head)}\n\\midrule\n{rows}\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}"
    )
