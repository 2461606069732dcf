"""Gradio components of the page: constant templates, drawn by the scripts in `app/static`."""
