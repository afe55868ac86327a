"""Derives ``stepcore/fn/torch_table.py`` from the installed torch: what bodies may call, and under what terms.

``python -m scripts.torch_schemas`` rewrites the table, ``--check`` says whether it is what this torch gives. Checking
programs never imports torch, so the table is text. The evidence, in this order:

1. Operators of torch have schemas. One that writes into an argument (``alias_info.is_write``) is not admitted, except
   as a method ``NAME_`` with a pure form ``NAME``; one with the tag ``nondeterministic_seeded`` is random.
2. Schemas of some operators do not say that running statistics are updated, and Python wrappers have none. There the
   *parameters* say it (``WRITES``, ``DRAWS`` of ``reviewed.py``): the call is harmless only with certain literals.
3. Python wrappers and modules run once on small tensors (``examples.py``) while every operator below them is watched. A
   wrapper without an example, or one that changes what it got, is not admitted.
4. Every function that is left runs on small real tensors: one that gave complex numbers each time is named apart, and
   not admitted, because values of bodies are real.
5. What may give a view of an argument is named apart: an alias in the schema of any overload, or, since operators
   that are composed of others have none there, a result in the memory of an argument in any call on small tensors.
6. The tables of ``reviewed.py`` hold what no schema can tell, with the reason.
"""
