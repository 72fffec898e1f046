"""Tests of the preloading of slow libraries."""

from __future__ import annotations

import subprocess
import sys

from core.services import projects, workspace

ASK = """
import sys, threading
from app import preload
def loaded(names): return [name for name in names if name in sys.modules]
with preload.running():
    preload.load_before_pages()
    assert loaded(preload.BEFORE_PAGES) == list(preload.BEFORE_PAGES)
    assert not loaded(preload.LIBRARIES), "no page waits for them"
    preload.note_page()
    from scipy.stats import binom  # modules that a page imports meanwhile are complete
    from sklearn.feature_extraction.text import TfidfVectorizer
    (thread,) = (each for each in threading.enumerate() if each.name == "preload")
    thread.join(60)
assert loaded(preload.LIBRARIES) == list(preload.LIBRARIES)
"""


def test_slow_libraries_are_loaded_after_the_first_page() -> None:
    subprocess.run([sys.executable, "-c", ASK], check=True, timeout=120)


def test_home_needs_none_of_the_slow_libraries() -> None:
    ask = """
import sys
from pathlib import Path
from app import context, preload
from core.services import projects, workspace
from streamlit.testing.v1 import AppTest
workspace.start(url="")
try:
    projects.open_last(workspace.current())
    page = AppTest.from_file(str(Path(context.__file__).with_name("navigation.py")), default_timeout=60).run()
finally:
    workspace.stop()
assert page.sidebar.children and not page.exception
print(*(name for name in (*preload.BEFORE_PAGES, *preload.LIBRARIES) if name in sys.modules))
"""
    workspace.start(url="")
    try:
        projects.open_last(workspace.current())  # creates the sample project with pandas
    finally:
        workspace.stop()
    loaded = subprocess.run([sys.executable, "-c", ask], check=True, timeout=120, capture_output=True, text=True)
    assert loaded.stdout.split() == []


def test_nothing_is_loaded_when_the_studio_stops_before_the_first_page() -> None:
    ask = """
import sys, threading
from app import preload
with preload.running(): pass
assert not [name for name in preload.LIBRARIES if name in sys.modules]
assert threading.active_count() == 1
"""
    subprocess.run([sys.executable, "-c", ask], check=True, timeout=120)
