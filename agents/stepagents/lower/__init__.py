"""Lowering: from a traced PyTorch function to STeP programs that stream.

The way: :mod:`.normalise` turns the ATen graph into tensor values (:mod:`.values`) of four kinds only: elements of
inputs, elementwise expressions, folds and scans; everything else is a way to index. :mod:`.planner` then asks for the
results element by element in some order of loops, and every value answers with a stream in that order, so that what
would be a layout in memory becomes an affine read of the inputs. :mod:`.plans` tries orders and ways to reuse;
:mod:`.search` keeps the best of what the checker accepts and the simulator confirms.
"""
