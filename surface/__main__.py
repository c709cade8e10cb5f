"""Joins the adapters of surface."""
