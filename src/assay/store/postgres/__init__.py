"""The store in PostgreSQL: any number of engines on one database."""
