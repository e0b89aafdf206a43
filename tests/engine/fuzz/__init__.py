"""Programs nobody wrote: made from features, run on the oracle and on the engine, shrunk where they differ."""
