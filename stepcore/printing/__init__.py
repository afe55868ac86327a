"""Data back to text: programs, tasks, Python files."""
