"""Editor features as plain data: below any protocol, without torch. One document is an :class:`Analysis`."""
