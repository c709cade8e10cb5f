"""The demo: real AWS operations as tools, through the whole path once.

Nothing here is ever sent to AWS, no credentials are read, and nothing of the product depends on this package.
"""
