"""From a program to its cycles: the network of units that a graph is on a chip, and the work of a call."""
