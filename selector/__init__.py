"""The ranking service: a query in, ranked names out, on index versions that are swapped while it serves.

A file directly in here does no I/O. `selector.service.Selector` ranks in process; `selector.adapters.http_api`
puts it behind HTTP; `selector.commands` joins the pieces.
"""
