"""Shapes of arguments that nobody wrote down for Stepsmith: read from text and calls, solved for, and checked."""
