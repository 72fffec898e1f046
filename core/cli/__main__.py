"""Start the command line: ``python -m moot`` from an installation, ``python -m core.cli`` in a checkout."""

from core.cli import main

if __name__ == "__main__":
    main(prog_name="moot")
