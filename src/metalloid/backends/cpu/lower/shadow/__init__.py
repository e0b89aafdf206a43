"""Events of a checked run, in vector code."""
