"""The closed language of element functions: parse, check and type without torch."""
