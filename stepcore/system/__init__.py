"""The process and its machine: memory, files that changed, when garbage is collected, what ran out."""
