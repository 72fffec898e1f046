"""Tests of drafts, versions and defaults of prompt templates."""

from __future__ import annotations

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import PromptError
from core.files import shipped_folder
from core.services import document_samples, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.lab import trials
from core.services.runs import planning
from tests.core.services.sessions import queue_runs, studio


@pytest.fixture
def session(tmp_path):
    with studio(tmp_path) as (_, session):
        yield session


@pytest.fixture
def judge():
    return next(slot for slot in prompt_templates.slots("ecj") if slot.key == "judge")


def edited(session, slot, old="Decide.", new="Decide now."):
    now = prompt_templates.template_status(session, slot)
    assert old in now.text
    prompt_templates.save_draft(session, slot, now.text.replace(old, new), now.base)
    return prompt_templates.template_status(session, slot)


def test_every_role_and_shared_prompt_part_can_be_edited(session):
    for protocol in ("ecj", "single"):
        slots = prompt_templates.slots(protocol)
        assert [slot.shared for slot in slots] == sorted(slot.shared for slot in slots)
        for slot in slots:
            now = prompt_templates.template_status(session, slot)
            assert (now.problems, now.changed, now.base.shipped) == ((), False, True), slot
            assert all(slot.meaning(name) for name in slot.inputs)


def test_draft_becomes_a_version_and_the_default_is_kept(session, judge):
    assert edited(session, judge).changed
    first = prompt_templates.save_version(session, judge, " shorter ")
    assert (first.label, first.note, first.parent) == ("v2", "shorter", "ecj/judge.v1")
    now = prompt_templates.template_status(session, judge)
    assert (now.base, now.changed, now.default.label) == (first, False, "v1 shipped")
    with pytest.raises(PromptError, match="nothing has changed"):
        prompt_templates.save_version(session, judge)
    edited(session, judge, "Decide now.", "Decide at once.")
    second = prompt_templates.save_version(session, judge)
    assert second.parent == first.name
    shipped, *own = prompt_templates.versions(session, judge)
    assert shipped.text.endswith("Decide. {{ reminder }}\n")
    assert [version.label for version in own] == ["v2", "v3"]
    prompt_templates.save_draft(session, judge, shipped.text, shipped)  # reset to shipped
    assert prompt_templates.template_status(session, judge).text == shipped.text
    assert session.store.prompts.draft(judge.name) is None


def test_template_with_an_error_is_kept_as_draft_only(session, judge):
    now = edited(session, judge, "{{ document }}", "{{ dokument }}")
    assert not now.usable
    with pytest.raises(PromptError, match=r"ecj/judge.draft, line \d+: the variable 'dokument' does not exist"):
        prompt_templates.save_version(session, judge)
    assert prompt_templates.template_status(session, judge).text == now.text


def test_text_that_is_too_long_is_kept_whole_as_draft_and_refused(session, judge):
    long = judge.shipped.text + "x" * 100_000
    prompt_templates.save_draft(session, judge, long, judge.shipped)
    now = prompt_templates.template_status(session, judge)
    assert (now.text, now.usable) == (long, False)
    assert now.problems[0].message.startswith("a template may have 100,000 characters, this one has")


def test_runs_use_and_name_promoted_versions(session, judge):
    edited(session, judge)
    version = prompt_templates.save_version(session, judge)
    assert queue_runs(session)[0].settings.templates["judge"].name == "ecj/judge.v1"
    prompt_templates.promote_version(session, judge, version)
    book = session.store.codebooks.latest()
    settings = planning.build_settings(
        planning.Plan(), book.codebook, 1, session.models, templates=prompt_templates.promoted_templates(session)
    )
    assert settings.templates["judge"].name == "own/ecj/judge.v2"
    assert settings.templates["judge"].text == version.text
    assert settings.templates["critic"].name == "ecj/critic.v1"
    assert prompt_templates.template_status(session, judge).default == version
    prompt_templates.promote_version(session, judge, prompt_templates.versions(session, judge)[0])
    assert prompt_templates.promoted_templates(session) == {}


def test_prompts_of_a_preset_have_versions_of_their_own(session, judge):
    params = {"preset": "paper"}
    slot = next(slot for slot in prompt_templates.slots("ecj", params) if slot.key == "judge")
    assert (slot.name, slot.of_preset, judge.of_preset) == ("ecj/paper/judge", True, False)
    edited(session, slot, "## user", "## user\nTake your time.")
    change = trials.prompt_change(session, slot, planning.Plan(params=params))
    sent = {key: template.name for key, template in change.before.templates.items() if "shared" not in template.name}
    assert sent["judge"] == slot.shipped.name, "the Lab tests what runs send"
    prompt_templates.promote_version(session, slot, prompt_templates.save_version(session, slot))
    paper, default = (planning.project_settings(session, planning.Plan(params=each)) for each in (params, {}))
    assert paper.templates["judge"].name == "own/ecj/paper/judge.v2"
    assert (default.templates["judge"].name, default.templates["critic"].name) == ("ecj/judge.v1", "ecj/critic.v1")


def test_prompts_of_a_custom_protocol_are_edited_in_its_description(session):
    script = (shipped_folder("sample_data") / "protocols" / "second_reading.yaml").read_text()
    slots = prompt_templates.slots("custom", {"script": script})
    assert slots
    assert all(slot.shared for slot in slots)
    (task,) = (slot for slot in slots if slot.key == "task")
    edited(session, task, task.shipped.text, f"{task.shipped.text.rstrip()} today")
    assert prompt_templates.save_version(session, task).label == "v2"


BROKEN = {
    "{{ 1 / 0 }}": "division by zero",
    "{{ labels[99].name }}": "has no element 99",
    "{{ document.foo.bar }}": "has no attribute 'foo'",
    "{% for x in range(99999999) %}{% endfor %}": "Range too big",
    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}": "exceeded the time or memory limit",
    "{{ 'x' * 99999999999 }}": "memory",
    "{{ nothing }}": "the variable 'nothing' does not exist",
    "{% if %}": "Expected an expression",
    "{{ ''.__class__ }}": "unsafe",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_template_cannot_be_saved_promoted_or_used_in_a_run(session, judge, broken):
    shipped = prompt_templates.versions(session, judge)[0]
    text = f"{shipped.text.rstrip()}\n{broken}\n"
    message = rf"ecj/judge\.\w+(, line {text.count(chr(10))})?: .*{BROKEN[broken]}"
    prompt_templates.save_draft(session, judge, text, shipped)
    with pytest.raises(PromptError, match=message):
        prompt_templates.save_version(session, judge)
    # Save it without checks, as an earlier version of Moot did.
    saved = session.store.prompts.save(judge.name, text, parent=shipped.name, after=1)
    version = prompt_templates.versions(session, judge)[-1]
    with pytest.raises(PromptError, match=message):
        prompt_templates.promote_version(session, judge, version)
    assert session.store.prompts.promoted() == {}
    session.store.prompts.promote(judge.name, saved.name)
    settings = planning.project_settings(session, planning.Plan())
    with pytest.raises(PromptError, match=r"own/ecj/judge\.v2"):
        planning.create_runs(session, settings, session.store.documents.ids())
    assert session.store.runs.all() == []


def promoted(session, slot, end):
    """Promote the shipped text with another end, without checks, as an earlier version of Moot did."""
    shipped = prompt_templates.versions(session, slot)[0]
    text = f"{shipped.text.rstrip()}\n{end}\n"
    prompt_templates.save_draft(session, slot, text, shipped)
    saved = session.store.prompts.save(slot.name, text, parent=shipped.name, after=1)
    session.store.prompts.promote(slot.name, saved.name)
    return prompt_templates.versions(session, slot)[-1]


def test_prompt_that_fails_on_one_document_cannot_be_saved_promoted_or_used(session, judge):
    version = promoted(session, judge, '{{ ("The", "Friendly", "Staff") | select("in", document) | first }}')
    session.store.prompts.promote(judge.name, None)
    prompt_templates.save_draft(session, judge, version.text, prompt_templates.versions(session, judge)[0])
    message = r"No first item.* Rendered on document d2\."
    with pytest.raises(PromptError, match=message):
        prompt_templates.save_version(session, judge)
    with pytest.raises(PromptError, match=message):
        prompt_templates.promote_version(session, judge, version)
    with pytest.raises(PromptError, match=message):
        trials.start_trial(session, trials.prompt_change(session, judge), document_samples.project_sample(session, 5))
    session.store.prompts.promote(judge.name, version.name)
    settings = planning.project_settings(session, planning.Plan())
    with pytest.raises(PromptError, match=message):
        planning.create_runs(session, settings, session.store.documents.ids())
    assert session.store.runs.all() == []
    assert len(planning.create_runs(session, settings, ["d0", "d1", "d3"])) == 1  # the prompt works on these


def test_definitions_that_a_prompt_cannot_render_are_not_saved(session, judge):
    promoted(session, judge, "{{ labels[0].keywords[0] }}")
    book = session.store.codebooks.latest().codebook
    codebooks.save(session, codebooks.change_label(book, book.labels[0].id, description="How clean it is."))
    with pytest.raises(PromptError, match=r"own/ecj/judge\.v2, line \d+: .*has no element 0.* Rendered on document d"):
        codebooks.save(session, codebooks.change_label(book, book.labels[0].id, keywords=()))
    assert session.store.codebooks.latest().number == 2


def test_definitions_that_a_prompt_of_a_preset_cannot_render_are_not_saved(session):
    params = {"preset": "paper"}
    slot = next(slot for slot in prompt_templates.slots("ecj", params) if slot.key == "judge")
    promoted(session, slot, "{{ labels[0].keywords[0] }}")
    book = session.store.codebooks.latest().codebook
    with pytest.raises(PromptError, match=r"own/ecj/paper/judge\.v2, line \d+: .*has no element 0"):
        codebooks.save(session, codebooks.change_label(book, book.labels[0].id, keywords=()))


def test_templates_are_exported_and_imported(session, judge):
    shipped = prompt_templates.versions(session, judge)[0]
    assert prompt_templates.template_file_name(shipped) == "ecj_judge.v1.md"
    prompt_templates.import_template(session, judge, ("\ufeff" + shipped.text + "more\r\n").encode(), "mine.md")
    assert prompt_templates.template_status(session, judge).text == shipped.text + "more\n"
    for content, message in ((b"\xff\xfe\x00", "not UTF-8"), (b"x" * 100_001, "100,001 characters")):
        with pytest.raises(PromptError, match=message):
            prompt_templates.import_template(session, judge, content, "mine.md")


def test_draft_that_a_file_replaces_is_saved_as_a_version(session, judge):
    mine = edited(session, judge)
    for _ in range(2):  # the second time, nothing of the user is in the editor
        prompt_templates.import_template(session, judge, f"{mine.text}more\r\n".encode(), "other.md")
    assert prompt_templates.template_status(session, judge).text == f"{mine.text}more\n"
    (kept,) = prompt_templates.versions(session, judge)[1:]
    assert (kept.text, kept.note) == (mine.text, "draft that other.md replaced")


def test_only_templates_that_a_debate_uses_are_sent():
    def sent(protocol, kind="choice", **params):
        codebook = Codebook(kind=kind, labels=(Label(name="Good"), Label(name="Bad"), Label(name="Mixed")))
        settings = prompt_templates.default_settings(protocol, codebook, {}, params)
        sent = prompt_templates.sent_templates(settings, Document("1", {"text": "A text."}))
        assert all(settings.templates[key] is template for key, template in sent.items())
        return {key for key, template in sent.items() if not template.name.startswith("shared/")}

    assert sent("single") == {"annotator"}
    assert sent("single", method="self_refine") == {"reasoner", "review", "refine"}
    assert sent("single", preset="parallel-5", shots=1) == {"few_shot"}
    assert sent("ecj", extra_rounds=1) == {"extractor", "extractor_again", "critic", "judge"}
    assert sent("discussion", rounds=0) == {"annotator"}
    court = {"magistrate", "magistrate_second", "prosecutor", "defender", "judge", "shorten"}
    assert sent("courtroom", shots=0) == court
    assert sent("courtroom") == court | {"clerk"}
    assert sent("panel", "rating", turns=0) == {"persona", "aggregator"}
