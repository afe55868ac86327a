"""The built-in proposer: type-directed synthesis of ``impl``, without a model and without a network."""
