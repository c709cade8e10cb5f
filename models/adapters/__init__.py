"""Models from disk and the engines that run them; only `__main__` files import from here."""
