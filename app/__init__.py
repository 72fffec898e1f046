"""Streamlit user interface of Moot. The logic is in ``core``."""
