"""Tests of the sidebar, the script of every page and of small widgets, with Streamlit's AppTest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import components, context, state
from app.widgets import sidebar
from core.debate.events import RunStatus
from core.errors import ProjectError, ProjectLocked
from core.services import guided_path
from core.services import workspace as workspaces
from core.services.live_state import LiveRunState

HOSTILE = "<img src=x onerror=alert(1)>"
NAVIGATION = str(Path(context.__file__).with_name("navigation.py"))


class ProjectSession:
    """A project with one active run."""

    file_problem = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.board_ = LiveRunState("r1")
        self.board_.publish(
            RunStatus.model_construct(
                run_id="r1",
                state="running",
                documents=1000,
                verdicts=403,
                unresolved=9,
                cost_usd=0.83,
                eta_seconds=1140.0,
            )
        )

    @property
    def name(self) -> str:
        return self.path.stem

    def active_runs(self) -> Sequence[str]:
        return ["r1"]

    def latest_run(self) -> str | None:
        return "r1"

    def all_runs(self) -> Sequence[SimpleNamespace]:
        archived = SimpleNamespace(status="archived")
        return [SimpleNamespace(run_id="r1"), SimpleNamespace(run_id="r2", title="Old", details=archived)]

    def run_name(self, run_id: str) -> str:
        return f"Run {HOSTILE}"

    def saved_at(self) -> float | None:
        return 1_700_000_000.0

    def live_run(self, run_id: str) -> LiveRunState | None:
        return self.board_ if run_id == "r1" else None


class Workspace:
    """Two projects; another process holds the second."""

    def __init__(self) -> None:
        self.paths = [Path("/p/hotel-aspects.duckdb"), Path("/p/clinic-letters.duckdb")]
        self.open_ = [ProjectSession(self.paths[0])]

    def sessions(self) -> Sequence[ProjectSession]:
        return self.open_

    def recent(self) -> Sequence[Path]:
        return self.paths

    def open(self, path: Path, *, create: bool = True) -> ProjectSession:
        raise ProjectLocked(str(path), 4127, "http://127.0.0.1:8501")


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    steps = guided_path.Overview(None, ())
    monkeypatch.setattr(guided_path, "overview", lambda session: steps)
    workspaces.use(Workspace())
    yield AppTest.from_file(NAVIGATION, default_timeout=20)
    workspaces.use(None)


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


@pytest.mark.parametrize(
    ("run", "words"), [("r9", "Run r9 does not exist in this project"), ("r2", "Old is archived"), ("r1", "")]
)
def test_run_in_the_address_that_is_not_shown_is_reported(studio: AppTest, run: str, words: str) -> None:
    studio.query_params["run"] = run
    studio.run()
    assert words in html(studio)
    assert ("The latest run is shown instead" in html(studio)) == bool(words)


@pytest.mark.parametrize(
    ("name", "is_reported"), [("hotels", True), ("clinic-letters", False), ("hotel-aspects", False)]
)
def test_unknown_project_in_the_address_is_reported(studio: AppTest, name: str, is_reported: bool) -> None:
    studio.query_params["project"] = name
    studio.run()
    shown = html(studio)
    assert ("Project hotels was not found" in shown) == is_reported
    if is_reported:
        assert "The project hotel-aspects is shown instead." in shown


def test_address_from_before_another_project_had_the_name_shows_a_project_of_that_name(studio: AppTest) -> None:
    workspace = context.workspace()
    workspace.paths[:] = [*workspace.paths, Path("/a/speeches.duckdb"), Path("/b/speeches.duckdb")]
    workspace.open_.append(ProjectSession(Path("/b/speeches.duckdb")))
    studio.query_params["project"] = "speeches"
    studio.run()
    assert "2 projects are called speeches" in html(studio)
    assert "The project speeches (b) is shown." in html(studio)


def test_project_that_another_tab_removed_is_reported(studio: AppTest) -> None:
    studio.run()
    context.workspace().paths.pop(0)
    context.workspace().open_ = [ProjectSession(context.workspace().paths[0])]
    studio.run()
    shown = html(studio)
    assert "Project hotel-aspects was not found" in shown
    assert "The project clinic-letters is shown instead." in shown


def test_project_that_this_tab_removed_keeps_the_notice_of_the_removal(studio: AppTest) -> None:
    studio.run()
    context.workspace().paths.pop(0)
    context.workspace().open_ = [ProjectSession(context.workspace().paths[0])]
    studio.session_state["notice"] = ("ok", "hotel-aspects was archived", "")
    studio.run()
    assert "hotel-aspects was archived" in html(studio)


def test_unknown_project_in_the_address_is_reported_without_any_project(studio: AppTest) -> None:
    context.workspace().paths.clear()
    context.workspace().open_.clear()
    studio.query_params["project"] = HOSTILE
    studio.run()
    assert "Project &lt;img src=x onerror=alert(1)&gt; was not found" in html(studio)
    assert HOSTILE not in html(studio)


def test_the_sidebar_names_the_projects_and_the_run(studio: AppTest) -> None:
    studio.run()
    assert studio.sidebar.selectbox[0].options == ["hotel-aspects", "clinic-letters"]
    text = html(studio)
    assert "412 of 1,000" in text
    assert "19 min left" in text
    assert "$0.83" in text


def test_steps_and_run_are_drawn_again_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fragment that runs again makes the browser compare the whole page."""
    intervals: list[float | None] = []
    monkeypatch.setattr(guided_path, "overview", lambda session: guided_path.Overview(None, ()))
    monkeypatch.setattr(st, "fragment", lambda draw, run_every=None: intervals.append(run_every) or draw)
    sidebar.project_status(ProjectSession(Path("hotel-aspects.duckdb")), "review")  # type: ignore[arg-type]
    assert intervals == [1.0]


@pytest.mark.parametrize(("page", "is_drawn_again"), [("run", True), ("review", False)])
def test_page_is_drawn_again_if_the_button_at_its_end_changed(
    page: str, is_drawn_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fragment of the sidebar draws the card alone. Review has no button to itself."""

    def overview(action: str) -> guided_path.Overview:
        return guided_path.Overview(None, (guided_path.PathStep("review", "review", "Review", "now", "", action, ""),))

    drawn, reruns = iter([overview("Review 10"), overview("Review 25")]), []
    monkeypatch.setattr(guided_path, "overview", lambda session: next(drawn))
    monkeypatch.setattr(st, "fragment", lambda draw, run_every=None: draw)
    monkeypatch.setattr(st, "rerun", lambda: reruns.append(page))
    sidebar.project_status(ProjectSession(Path("hotel-aspects.duckdb")), page)  # type: ignore[arg-type]
    assert reruns == [page] * is_drawn_again


def test_names_are_escaped(studio: AppTest) -> None:
    studio.run()
    assert HOSTILE not in html(studio)
    assert "Run &lt;img" in html(studio)


@pytest.mark.parametrize("looks", [0, 1])
def test_sidebar_of_a_project_closed_elsewhere_has_a_message(
    studio: AppTest, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """The project is closed in another tab after some looks at its guided path and its run."""

    def closes_after(looks: int, answer: object) -> Callable[..., object]:
        answers = repeat(answer, looks)

        def look(*_: object) -> object:
            for answer in answers:
                return answer
            raise ProjectError("hotel-aspects.duckdb is closed.", "Open it again on Home.")

        return look

    step = guided_path.PathStep("pilot", "run", "Pilot", "now", "Debate ten.", "Run a pilot", "Press Start.")
    steps = guided_path.Overview(None, (step,))
    monkeypatch.setattr(guided_path, "overview", closes_after(looks, steps))
    monkeypatch.setattr(ProjectSession, "latest_run", closes_after(looks, "r1"))
    monkeypatch.setattr(ProjectSession, "active_runs", lambda self: [])
    studio.run()
    assert "hotel-aspects.duckdb is closed" in html(studio)
    assert ("Next step" in html(studio)) == bool(looks)


def test_project_open_in_another_studio_is_explained(studio: AppTest) -> None:
    studio.run()
    studio.sidebar.selectbox[0].select_index(1).run()
    text = html(studio)
    assert "/p/clinic-letters.duckdb is open in Moot at http://127.0.0.1:8501 (pid 4127)" in text
    assert "Stop Moot there" in text


def test_page_keeps_its_place_when_a_notice_appears(studio: AppTest) -> None:
    """The browser would draw the elements at other places anew and close what the user has opened."""
    places = list(studio.run().main.children)
    studio.session_state["notice"] = ("ok", "Saved as v2", "")
    studio.run()
    assert "Saved as v2" in html(studio)
    assert list(studio.main.children) == places


def test_notice_stays_for_seconds_on_its_page(studio: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser may ask for a second run at once, which would remove the notice before it is seen."""
    for removed_by in ("time", "another page"):
        studio.session_state["notice"] = ("ok", "Saved as v2", "")
        for _ in range(2):
            studio.run()
            assert "Saved as v2" in html(studio)
        if removed_by == "time":
            with monkeypatch.context() as patch:
                patch.setattr(state, "NOTICE_SECONDS", 0.0)
                studio.run()
        else:
            drawn_on, drawn_at = studio.session_state["notice_drawn"]
            assert drawn_on == "home"
            studio.session_state["notice_drawn"] = ("data", drawn_at)
            studio.run()
        assert "Saved as v2" not in html(studio)


def test_changing_the_project_clears_state_of_the_first(studio: AppTest) -> None:
    studio.session_state["run_id"] = "r1"
    studio.session_state["project"] = Path("/p/hotel-aspects.duckdb")
    studio.run()
    assert studio.session_state["run_id"] == "r1"
    studio.sidebar.selectbox[0].select_index(1).run()
    assert "run_id" not in studio.session_state


def test_project_of_an_earlier_studio_in_an_open_tab_changes_nothing(studio: AppTest) -> None:
    box = studio.run().selectbox(key="project_switcher")
    shown = box.value
    box.options.append("gone")
    box.select_index(-1).run()
    assert studio.session_state["project"] == shown
    assert studio.selectbox(key="project_switcher").value == shown


def test_widgets_escape_their_values() -> None:
    def page() -> None:
        from app.widgets.alerts import notice
        from app.widgets.labels import tags
        from app.widgets.layout import empty, header
        from core.codebook import Label

        bad = "<img src=x onerror=alert(1)>"
        header(bad, bad, badge=bad)
        notice("error", bad, bad)
        tags([Label(name=bad, colour=1)])
        empty(bad, bad, key="e")

    app = AppTest.from_function(page, default_timeout=20).run()
    assert not app.exception
    assert html(app).count("&lt;img src=x onerror=alert(1)&gt;") == 9
    assert HOSTILE not in html(app)


def test_empty_state_returns_true_when_its_action_is_clicked() -> None:
    def page() -> None:
        import streamlit as st

        from app.widgets.layout import empty

        st.text(str(empty("No verdicts yet", "84 documents.", {"Open Data": "data"}, action="Start 10", key="run")))

    app = AppTest.from_function(page, default_timeout=20).run()
    assert app.text[0].value == "False"
    assert [button.label for button in app.button] == ["Open Data", "Start 10"]
    app.button[1].click().run()
    assert app.text[0].value == "True"


def test_error_with_a_remedy_is_shown_and_only_others_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    def closed() -> None:
        from app.widgets.sidebar import script_error
        from core.errors import ProjectError

        script_error(ProjectError("p.duckdb is closed.", "Open the project again."))

    def internal() -> None:
        from app.widgets.sidebar import script_error

        script_error(KeyError("a key or a document"))

    at = AppTest.from_function(closed).run()
    assert "p.duckdb is closed." in at.get("html")[0].proto.body
    assert "a page failed" not in caplog.text
    at = AppTest.from_function(internal).run()
    assert "internal error (KeyError)" in at.get("html")[0].proto.body
    assert "a page failed" in caplog.text


def test_every_script_loaded_ahead_exists():
    """The names are Streamlit's, and another version may have others."""
    streamlit = Path(st.__file__).parent / "static"
    addresses = sidebar._preloaded_modules()
    assert len(addresses) == len(sidebar._PRELOADED) + len(sidebar._PRELOADED_COMPONENTS)
    for address in addresses:
        if address.startswith("static/"):
            assert (streamlit / address).is_file()
        else:
            assert (components.FOLDER / Path(address).name).is_file()
