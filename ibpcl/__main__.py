"""The command line as a module: ``python -m ibpcl``."""

from ibpcl.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
