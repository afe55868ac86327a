"""Faster programs from slower ones: rewrites are tried, timed, and what is shown is verified. No torch here."""
