"""The command ``keywords``: keywords proposed from the texts of a file, for a codebook file."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.console import PROJECT_PATH, help_examples, json_option, print_json, print_message, print_table
from core.formatting import format_count, join_names


@click.command(
    "keywords",
    epilog=help_examples(
        "moot keywords reviews.csv --text text --codebook aspects.yaml",
        "moot keywords reviews.csv --text text --codebook aspects.yaml --output aspects_with_keywords.yaml",
    ),
)
@click.argument("input", type=PROJECT_PATH)
@click.option("--text", required=True, metavar="COL", help="Column with the text.")
@click.option("--codebook", "codebook_file", required=True, type=PROJECT_PATH, help="Codebook file (YAML).")
@click.option("--label", "names", multiple=True, metavar="NAME", help="Only keywords of this label. Repeatable.")
@click.option("--output", type=PROJECT_PATH, help="Write the codebook with the printed keywords added to this file.")
@json_option
def keywords_command(
    input: Path, text: str, codebook_file: Path, names: tuple[str, ...], output: Path | None, as_json: bool
) -> None:
    """Propose keywords for the built-in model from INPUT.

    The codebook file is not changed.
    """
    from core.errors import UsageError
    from core.services.codebooks.codebook import read_codebook, write_yaml
    from core.services.codebooks.keyword_matches import labels_without_keywords, propose_keywords, with_keywords
    from core.services.data.importing import ImportOptions, preview_file

    codebook = read_codebook(codebook_file)
    wanted = set()
    for name in names:
        label = codebook.find(name)
        if label is None:
            raise UsageError(f"The label '{name}' does not exist.", f"The labels are {join_names(codebook.names)}.")
        wanted.add(label.id)
    documents = preview_file(ImportOptions((input,), text=text), codebook).built.documents
    found = propose_keywords(codebook, [document.text for document in documents])
    found = tuple(one for one in found if not wanted or one.label_id in wanted)
    without = labels_without_keywords(codebook, found)
    label_names = {label.id: label.name for label in codebook.labels}
    if output is not None:
        write_yaml(with_keywords(codebook, found), output)
    if as_json:
        keywords = [
            {
                "label": label_names[one.label_id], "keyword": one.word, "source": one.source,
                "documents": one.documents, "together": one.together, "example": one.example,
            }
            for one in found
        ]  # fmt: skip
        print_json({"documents": len(documents), "keywords": keywords, "labels_without_keywords": list(without)})
        return
    rows = [
        (f"{label_names[one.label_id]}: {one.word}", one.source, f"{one.documents:,}", f"{one.together:,}")
        for one in found
    ]
    if rows:
        print_table(("Label: keyword", "source", "documents", "with another word of the label"), rows)
    print_message(f"{format_count(len(found), 'keyword')} proposed from {format_count(len(documents), 'document')}")
    if without:
        print_message(f"no keywords for {join_names(without)}: add words that only texts with this label use")
    if output is not None:
        print_message(f"wrote {output}")
