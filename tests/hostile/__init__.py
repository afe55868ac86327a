"""The hostile corpus: inputs that try to run foreign code, cheat the judge or exhaust the machine, and their runner."""
