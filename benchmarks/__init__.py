"""Measurements of the product: `python -m benchmarks NAME`; see README.md."""
