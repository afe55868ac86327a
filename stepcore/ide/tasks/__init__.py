"""Task files in an editor: their keys, their sizes, and where each part of them stands."""
