"""The selector's commands, one file each: the pieces are joined here and nowhere else.

A command reads its arguments, opens the adapters they name, calls the core and prints what it answered.
"""
