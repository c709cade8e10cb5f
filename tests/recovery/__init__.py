"""The recovery matrix of the specification, each row with real processes and a real store."""
