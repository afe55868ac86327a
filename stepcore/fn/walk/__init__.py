"""Bodies of the closed language, node by node: what is forbidden, unknown, no allowed call, or changed in place."""
