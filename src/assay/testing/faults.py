"""What a test is told when its time cannot go on."""

from assay.errors import AssayError


class NothingDue(AssayError):
    """The test waits, nothing runs, and nothing will ever happen by itself."""

    code = "nothing_due"


class NotSurvived(AssayError):
    """A crash has changed what a test comes to."""

    code = "not_survived"
