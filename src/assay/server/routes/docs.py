"""What there is to ask for: as a document for programs, as a page for people."""

from assay.server.answer import Answer
from assay.server.call import Call
from assay.server.openapi.page import docs_page


async def openapi(call: Call) -> Answer:
    """Describe the interface.

    The paths stand under the prefix that it was fetched from.
    """
    documents, path = call.door.documents, call.raw_path.decode("latin-1")
    return Answer(200, next(documents[prefix] for prefix in documents if path.startswith(prefix)))


async def page(_: Call) -> Answer:
    """Show the interface to people, who can try it there."""
    return docs_page()
