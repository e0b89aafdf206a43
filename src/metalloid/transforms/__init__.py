"""IR to IR, for any device: canonical form, bases of addresses, marks of the checker, counters of work."""
