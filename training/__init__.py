"""Trains the encoder that ships, from public tool data. Needs torch; nothing that serves imports this."""
