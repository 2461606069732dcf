"""The page. `python app.py` opens it; only `session` reaches the decoder, and lazily."""
