"""``python -m paraboloid`` is the command ``paraboloid``."""

from paraboloid.cli import main

if __name__ == "__main__":
    main(prog_name="paraboloid")
