"""What is delivered: files with verified programs."""
