"""The studio in Streamlit: widgets and what moves them. Logic is in ``core``."""
