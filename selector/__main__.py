"""Joins the adapters of selector."""
