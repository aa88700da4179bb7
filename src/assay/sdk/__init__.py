"""The side of the users and of their workers: knows wire, never the engine."""
