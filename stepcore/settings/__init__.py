"""What projects, users and calls have set."""
