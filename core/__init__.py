"""Everything Moot does, without a screen: values, debates, models, the engine, the store and the use-cases.

Nothing in here imports streamlit. Data goes one way: file -> documents -> asks -> turns -> verdict -> annotation
-> review -> evaluation; imports go one way too, and ``tests/test_layout.py`` holds both.
"""

__version__ = "0.1.0"
