"""A model in the search for faster programs: what it is asked, what it answers, and what becomes of that."""
