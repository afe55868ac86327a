"""From text to specifications and graphs, with spans; nothing here raises on user input."""
