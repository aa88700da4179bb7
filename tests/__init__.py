"""Everything that tests assay; `tests.support` is what the suites stand on."""
