"""What the server answers. Each module is imported at its first request; :mod:`stepserver.app` names them."""
