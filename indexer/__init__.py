"""The indexer: catalogs → published index versions that the selector ranks with."""
