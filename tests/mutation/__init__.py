"""Tests of the tests: break one place of the code, run the tests that reach it, expect one to fail.

Run as ``python -m tests.mutation`` (``make mutants``); ``config.py`` says what is mutated and what is run.

Why not a library. cosmic-ray writes each mutant to disk and starts a new process for it; importing torch alone takes
2 s, so 1500 mutants on two cores cannot end within half an hour. mutmut 3 forks and would be fast enough, but it drops
no statement, forces no ``if``, leaves out decorated functions and all that stands in a class or module body (where our
operators declare their parameters), mutates the text of messages, and takes no samples.
"""
