"""One file per kind of instruction."""
