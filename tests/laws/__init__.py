"""Laws that hold for every input, each test quoting the rule it guards."""
