"""Everything of Moot except the screens: values, debates, models, the engine, the store and the use cases.

Nothing in here imports streamlit. Data goes one way: file -> documents -> requests -> turns -> verdict -> annotation
-> review -> evaluation. Imports go one way as well. ``tests/test_layout.py`` checks both.
"""

__version__ = "0.1.0"
