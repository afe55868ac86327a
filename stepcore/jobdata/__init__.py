"""What jobs take, tell and return, and what the language server tells an editor: records that plain JSON carries.

Frozen dataclasses and nothing else: no torch, no protocol, no module of the language. :mod:`.plain` turns them into
JSON and back, strictly; :mod:`.kinds` binds the records of one job together. The types of the editor extension are
generated from :mod:`.editor` (``scripts/editor_types.py``).
"""
