"""The jobs of the agents' worker, a module each."""
