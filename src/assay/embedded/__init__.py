"""Engine and SDK in one process, without HTTP: durable functions in a script, a test, a service."""
