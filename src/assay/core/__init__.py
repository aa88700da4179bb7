"""Decisions: operation + rows + now → changes or a refusal. No I/O, no clock."""
