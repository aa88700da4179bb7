"""The description of the interface, made from the definitions that read and write it."""
