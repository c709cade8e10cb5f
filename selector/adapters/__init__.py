"""What the selector touches the world with: HTTP, and files of evaluation sets."""
