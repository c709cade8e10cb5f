"""Joins the adapters of indexer."""
