"""Speech: request bodies, records, answers. No engine, no HTTP."""
