"""The page for people: files of this package, put together into one that asks for nothing else.

Its policy admits the very scripts and styles that stand in it, by their hashes, and requests to
the server it came from.
"""

import hashlib
import re
from base64 import b64encode
from functools import cache
from importlib.resources import files

from assay.server.answer import HTML_TYPE, Answer
from assay.server.asgi import Header

_STYLE = re.compile(r'<link rel="stylesheet" href="([\w.]+)">')
_SCRIPT = re.compile(r'<script src="([\w.]+)"></script>')


@cache
def docs_page() -> Answer:
    """The page, and what it may do."""
    page = _text("docs.html")
    styles = [_text(name) for name in _STYLE.findall(page)]
    scripts = [_text(name) for name in _SCRIPT.findall(page)]
    page = _STYLE.sub(lambda found: f"<style>{_text(found[1])}</style>", page)
    page = _SCRIPT.sub(lambda found: f"<script>{_text(found[1])}</script>", page)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src {_hashes(styles)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
    headers: tuple[Header, ...] = (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-cache"),
    )
    return Answer(200, page.encode(), None, headers, HTML_TYPE)


def _text(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text("utf-8")


def _hashes(texts: list[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
