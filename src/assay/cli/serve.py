"""`assay serve`: run the engine and its HTTP interface."""

import click

DEFAULT_BACKEND = "sqlite://assay-workflow.db?mode=rwc"
DEFAULT_PORT = 8080


@click.command()
@click.option(
    "--backend",
    metavar="URL",
    envvar="DATABASE_URL",
    default=DEFAULT_BACKEND,
    show_default=True,
    show_envvar=True,
    help="The database: sqlite:PATH, a bare path, or postgres://...",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=DEFAULT_PORT,
    show_default=True,
    help="The TCP port to listen on.",
)
@click.option(
    "--no-auth",
    is_flag=True,
    expose_value=False,
    help="Let everybody in, which is the only mode there is yet.",
)
def command(backend: str, port: int) -> int:
    """Run the engine and its HTTP interface until SIGTERM or SIGINT."""
    from assay.server.serve import run

    return run(backend, port)
