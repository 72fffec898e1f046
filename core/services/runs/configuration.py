"""The configuration of a run in words: what it consists of, what differs between runs, and a name for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from core.debate import protocols
from core.formatting import format_count, join_names
from core.runs import FIRST_CANARY, RoleModel, RunRow, RunSettings, Sampling
from core.services.prompt_templates import own_prompts, title_of

PROTOCOL, MODELS, PROMPTS, CODEBOOK, DOCUMENTS = "Protocol", "Models", "Prompts", "Codebook", "Documents"
SUMMARY = (PROTOCOL, MODELS, PROMPTS, CODEBOOK, "Parameters", DOCUMENTS, "Seed", "Iteration", "Engine")
"""Headings of a configuration that summarise it; the others are about one role each."""
SHIPPED = "default"
_SAMPLING = {
    "top_p": "top p {:g}",
    "max_tokens": "at most {:,} tokens",
    "reasoning_effort": "effort {}",
    "seed": "seed {}",
}
"""Words for settings of a model's sampling, by name."""
_MAX_MODELS = 3  # named one by one in a name


def configuration(settings: RunSettings, documents: int) -> dict[str, str]:
    """Return the configuration by heading: the ``SUMMARY``, then model and prompt of each role."""
    models = {role: describe_model(role_model) for role, role_model in settings.role_models.items()}
    prompt_names = own_prompts(settings)
    return {
        PROTOCOL: protocols.short_title(settings),
        MODELS: ", ".join(dict.fromkeys(models.values())),
        PROMPTS: ", ".join(prompt_names.values()) or SHIPPED,
        CODEBOOK: f"v{settings.codebook_version}" if settings.codebook_version else "not saved",
        "Parameters": ", ".join(changed_params(settings)) or "default",
        DOCUMENTS: f"{documents:,}",
        "Seed": str(settings.seed),
        "Iteration": name_iteration(settings).removeprefix("iteration "),
        "Engine": settings.engine.name,
        **{f"{title_of(role)} model": model for role, model in models.items()},
        **{f"{title_of(key)} prompt": prompt_names.get(key, SHIPPED) for key in settings.templates},
    }


def name_iteration(settings: RunSettings) -> str:
    """Return the name of the iteration, such as "iteration 2", or "canary" for a canary run."""
    return f"iteration {settings.iteration + 1}" if settings.iteration < FIRST_CANARY else "canary"


def differences(runs: Sequence[RunRow]) -> dict[str, tuple[str, ...]]:
    """Return the headings in which the runs differ, each with the values in the order of the runs.

    The summary of models or prompts is left out where single roles, which all runs have, show the whole difference.
    """
    configurations = [configuration(run.settings, run.documents) for run in runs]
    first = configurations[0] if configurations else {}
    shared = [heading for heading in first if all(heading in values for values in configurations)]
    rows = {heading: tuple(values[heading] for values in configurations) for heading in shared}
    differing = {heading: values for heading, values in rows.items() if len(set(values)) > 1}
    same_roles = all(values.keys() == first.keys() for values in configurations)
    for summary, part in ((MODELS, " model"), (PROMPTS, " prompt")):
        if same_roles and any(heading.endswith(part) for heading in differing):
            differing.pop(summary, None)
    return differing


def _words_in_name(settings: RunSettings, documents: int, current: Mapping[str, str]) -> dict[str, str]:
    """Return how the name of a run states each heading of its configuration that changed."""
    return {
        PROMPTS: current[PROMPTS] if current[PROMPTS] != SHIPPED else "default prompts",
        CODEBOOK: f"codebook {current[CODEBOOK]}",
        "Parameters": current["Parameters"] if current["Parameters"] != "default" else "default parameters",
        DOCUMENTS: format_count(documents, "document"),
        "Seed": f"seed {current['Seed']}",
        "Iteration": name_iteration(settings),
        "Engine": current["Engine"],
    }


def propose_name(settings: RunSettings, documents: int, earlier: Sequence[RunRow]) -> str:
    """Return a name from what differs: "ECJ, gpt-4.1-mini, critic v2".

    It has protocol and models, and what else differs from the first earlier run with the same ones. A name that an
    earlier run has gets a number.
    """
    names = model_names(settings.role_models.values())
    models = join_names(names) if len(names) <= _MAX_MODELS else format_count(len(names), "model")
    parts = [protocols.short_title(settings), models]
    current = configuration(settings, documents)
    nearest = next((run for run in earlier if _start(run.settings) == _start(settings)), None)
    if nearest is not None:
        before = configuration(nearest.settings, nearest.documents)
        words = _words_in_name(settings, documents, current)
        parts += [changed for heading, changed in words.items() if current[heading] != before[heading]]
    elif current[PROMPTS] != SHIPPED:
        parts.append(current[PROMPTS])
    name = ", ".join(parts)[:100]
    used_names = {run.details.name for run in earlier}
    numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(candidate for candidate in numbered if candidate not in used_names)


def describe_model(role_model: RoleModel) -> str:
    """Return model and sampling in words: "gpt-4.1-mini at temperature 0.7"; built-in models have no sampling."""
    model = role_model.name
    if role_model.is_builtin:
        return model
    sampling = role_model.sampling
    if sampling.temperature is not None:
        model += f" at temperature {sampling.temperature:g}"
    return ", ".join([model, *_sampling_words(sampling)])


def describe_sampling(sampling: Sampling) -> str:
    """Return the sampling settings in words: "temperature 0.7, top p 0.9", or "default"."""
    temperature = [] if sampling.temperature is None else [f"temperature {sampling.temperature:g}"]
    return ", ".join([*temperature, *_sampling_words(sampling)]) or "default"


def _sampling_words(sampling: Sampling) -> list[str]:
    """Return all settings but the temperature."""
    words = [form.format(value) for name, form in _SAMPLING.items() if (value := getattr(sampling, name)) is not None]
    schema = {"auto": [], "on": ["JSON replies"], "off": ["text replies"]}[sampling.json_schema]
    return [*words, *schema]


def model_names(role_models: Iterable[RoleModel]) -> list[str]:
    """Return the distinct models in words, in order."""
    return list(dict.fromkeys(map(describe_model, role_models)))


def _start(settings: RunSettings) -> tuple[str, dict[str, str]]:
    """Return protocol and models."""
    return settings.protocol, {role: describe_model(role_model) for role, role_model in settings.role_models.items()}


def describe_param(name: str, value: object) -> str:
    """Return a parameter in words: "extra rounds 2", "adaptive yes"."""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    return f"{name.replace('_', ' ')} {value}"


def changed_params(settings: RunSettings) -> list[str]:
    """Return the parameters that are not at their defaults, in words."""
    spec = protocols.known(settings)
    defaults = spec.parse_params() if spec else {}
    return [
        describe_param(name, value)
        for name, value in settings.params.items()
        if value != defaults.get(name) and len(str(value)) <= 40  # the text of a custom protocol is too long
    ]


def role_titles(settings: RunSettings) -> dict[str, str]:
    """Return the roles of a run in speaking order with their titles."""
    if protocols.known(settings) is None:
        return {role: title_of(role) for role in settings.role_models}
    return {role.name: role.title for role in protocols.roles_of(settings)}
