"""Memory: load, commit, candidates, read models. Decides nothing."""
