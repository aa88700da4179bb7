"""Words: frozen values and closed unions. No I/O, no clock, no JSON text, no SQL."""
