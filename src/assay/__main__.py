"""`python -m assay`: the same as the command `assay`."""

import sys

from assay.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
