"""Descriptions of chips: the table of keys, the reader of files, prices of functions, which chip is in force."""
