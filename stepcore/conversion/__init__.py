"""Task files to Python files and back."""
