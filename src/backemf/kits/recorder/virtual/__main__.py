"""`python -m backemf.kits.recorder.virtual SOURCE OPTIONS`: what `be.virtual` starts; OPTIONS are a JSON
object."""

from __future__ import annotations

import contextlib
import json
import sys

from ....errors import BackemfError
from ..record_options import VirtualOptions
from .process import link_device, serve_options


def main() -> None:
    """Serve, and print the port once the servos answer; a deliberate error is its text alone."""
    options = VirtualOptions(**json.loads(sys.argv[2]))
    with contextlib.ExitStack() as named:

        def ready(device: str, ids: list[int]) -> None:
            if options.link:
                named.enter_context(link_device(device, options.link))
            print(device, flush=True)

        try:
            serve_options(sys.argv[1], options, ready)
        except BackemfError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
