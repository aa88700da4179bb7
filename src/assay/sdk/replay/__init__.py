"""Workflow code, stepped deterministically: a loop of its own, fed with history event by event."""
