"""Loads and stores: where they go, how the lanes lie, guards."""
