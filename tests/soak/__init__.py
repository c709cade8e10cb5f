"""A long mixed load with everything going wrong beside it; `make soak`."""
