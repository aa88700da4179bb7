"""Requests from a thread beside the loop: few and small, over one kept connection of its own."""

import contextlib
import http.client
import ssl

from assay.sdk.http_address import Address

SECS = 10.0


class ThreadSender:
    """Posts small bodies; belongs to the thread that first uses it."""

    def __init__(
        self, address: Address, prefix: str, head: str, tls: ssl.SSLContext | None
    ) -> None:
        self._address = address
        self._prefix = prefix
        self._tls = tls
        lines = (line.partition(": ") for line in head.split("\r\n")[1:] if line)
        self._headers = {name: value for name, _, value in lines if name != "host"}
        self._headers["content-type"] = "application/json"
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes) -> int:
        """The status of the answer; an error if there is none."""
        kept = self._connection is not None
        try:
            return self._post(path, body)
        except (OSError, http.client.HTTPException):
            self.close()
            if not kept:
                raise
        try:
            return self._post(path, body)
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def _post(self, path: str, body: bytes) -> int:
        if self._connection is None:
            self._connection = self._opened()
        self._connection.request("POST", self._prefix + path, body, self._headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def _opened(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=SECS)
        return http.client.HTTPSConnection(host, port, timeout=SECS, context=self._tls)

    def close(self) -> None:
        """End the connection; another request opens another one."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None
