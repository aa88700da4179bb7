"""The door: HTTP in, one engine call, HTTP out. No SQL, no decisions."""
