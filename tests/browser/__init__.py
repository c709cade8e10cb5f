"""The console in a real headless Chromium: ``make test-browser``."""
