"""Random workflows in a small world: told live, replayed from any moment, told again by others."""
