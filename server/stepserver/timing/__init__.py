"""How fast each program is: the chip it is timed on, what is known, what is asked, and the one status model."""
