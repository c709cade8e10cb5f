"""The routes of the service, one subject a file. Routes translate, nothing more."""
