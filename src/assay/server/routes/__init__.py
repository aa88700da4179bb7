"""One file per resource: parse, one engine call, answer."""
