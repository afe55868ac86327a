"""How many cycles a program takes: hardware, units, channels, memory, engines. Nothing here imports torch."""
