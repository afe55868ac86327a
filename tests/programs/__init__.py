"""Random well-typed STeP programs, as data and as text, and how to run them against the oracle."""
