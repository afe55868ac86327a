"""Jobs on a Ray cluster (https://docs.ray.io)."""
