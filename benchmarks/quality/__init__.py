"""How well rankers find tools: sets of queries by third parties, and rankers through the code that serves.

Nothing here is part of the package: what others do (`bm25.py`, `fusion.py`) is written plainly, to be compared with.
"""
