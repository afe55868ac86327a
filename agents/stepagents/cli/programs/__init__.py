"""Programs that are made faster, on the command line: what ``optimize`` and ``improve --kind optimization`` share."""
