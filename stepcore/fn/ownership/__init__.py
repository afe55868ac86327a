"""What a body must not change: inputs, state, weights, what ``global`` made, and whatever may share memory with them.

``held`` says where a value may come from, ``heap`` what the lists of a body hold, ``effects`` what a call of a helper
does, and ``body`` follows the names and expressions of one body.
"""
