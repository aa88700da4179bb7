"""`assay serve`: one process with an engine and its HTTP interface, from start to stop.

Who has the database for himself is looked for first, then the port is taken. While the store is
being opened, which may have to make an older schema anew, the door says 503 (app.py).

Stopping (SIGTERM, SIGINT): no new connections, held polls answer empty, running requests finish,
then the engine ends and gives up its store; all that within five seconds.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Generator
from types import FrameType

import uvicorn

import assay
from assay.engine.clock import wall_clock
from assay.engine.runner import Rules, Runner
from assay.errors import StoreFault
from assay.server.app import App, create_app
from assay.server.protocol import DoorProtocol
from assay.server.settings import Settings, log_level, read_settings
from assay.store.open import open_store
from assay.store.port import Store

log = logging.getLogger("assay.server")

HOST = "0.0.0.0"  # noqa: S104 - the contract's default: a server is there to be reached
BACKLOG = 2048
KEEP_ALIVE_SECS = 120
STOP_SECS = 1.5  # and the engine so long to finish its batch
FINISH_SECS = 2  # running requests get so long after a stop; the whole stop may take five
AUTH_MODE = "no-auth (open access)"
NO_START = "the engine cannot start: %s"
STOPS = (signal.SIGTERM, signal.SIGINT)


def run(backend: str, port: int) -> int:
    """Serve until a signal comes; the exit code."""
    logging.basicConfig(
        stream=sys.stderr,
        level=log_level(os.environ),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    settings = read_settings(os.environ)
    store = open_store(backend)
    for number in STOPS:
        signal.signal(number, _leave)
    try:
        store.reserve()
    except (StoreFault, OSError) as fault:
        log.error(NO_START, fault)  # noqa: TRY400 - no fault of ours
        return 1
    try:
        listener = listen(port)
    except OSError as error:
        log.error("port %d cannot be used: %s", port, error.strerror or error)  # noqa: TRY400 - no fault of ours
        return 1
    with listener, asyncio.Runner(loop_factory=_loop_factory()) as loop:
        return loop.run(serve(store, listener, settings))


def listen(port: int) -> socket.socket:
    """A listening socket."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)  # noqa: FBT003 - its only form
    except OSError:
        listener.close()
        raise
    return listener


async def serve(store: Store, listener: socket.socket, settings: Settings) -> int:
    """An engine on that store behind that socket; the exit code."""
    runner = Runner(store, wall_clock, Rules(lease=settings.lease, version=assay.__version__))
    server = DoorServer(create_app(runner, settings))
    runner.on_failure = server.fail
    host, port = listener.getsockname()
    listens = f"assay listens on http://{host}:{port}, {AUTH_MODE}"
    starting = asyncio.create_task(_start(runner, server, listens))
    try:
        await server.serve(sockets=[listener])
    finally:
        starting.cancel()
        await asyncio.wait([starting], timeout=STOP_SECS)
        if runner.ready:
            await _stop(runner)
    log.info("assay has stopped")
    return server.exit_code


async def _stop(runner: Runner) -> None:
    """What is on its way to a database that does not answer is left to its next start."""
    try:
        async with asyncio.timeout(STOP_SECS):
            await runner.stop()
    except TimeoutError:
        log.warning("the database does not answer: what was on its way to it is in, or it is not")


async def _start(runner: Runner, server: "DoorServer", listens: str) -> None:
    """Start the engine; a door without one is of no use."""
    try:
        await runner.start()
    except (StoreFault, OSError) as fault:
        log.error(NO_START, fault)  # noqa: TRY400 - no fault of ours
        server.fail()
    except Exception:
        log.exception("the engine failed at its start")
        server.fail()
    else:
        _spare_the_collector()
        log.info(listens)


class DoorServer(uvicorn.Server):
    """uvicorn's server, stopped our way: a signal ends it, and is not raised again."""

    def __init__(self, app: App) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=DoorProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECS,
                timeout_graceful_shutdown=FINISH_SECS,
            )
        )
        self._app = app
        self.exit_code = 0

    def fail(self) -> None:
        """There is no engine behind the door any more."""
        self.exit_code = 1
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Held polls are answered before anybody is waited for."""
        log.info("assay is stopping")
        self._app.door.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take the signals for as long as it serves."""
        before = {number: signal.signal(number, self.handle_exit) for number in STOPS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _spare_the_collector() -> None:
    """What is there at the start stays, what requests make has no cycles: 5-11 % less CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """A signal before there is anything to end gracefully."""
    raise SystemExit(0)


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.Loop
