"""The command `sigmastar`, also as `python -m sigmastar` where scripts are not on the path."""

import sys


def main() -> None:
    """Start the command line; an interrupt is told in one line from the first import on."""
    try:
        from sigmastar.cli import main as start  # takes most of the time before the work
    except KeyboardInterrupt:
        sys.stderr.write("sigmastar: interrupted; no unfinished file is left\n")
        sys.exit(130)
    start()


if __name__ == "__main__":
    main()
