"""The image's health check: exit with 0 when an address answers with 200, by default the service's /livez.

Standard library only, so that it starts fast. Above: HEALTHCHECK of the Dockerfile, compose.yaml.
"""

from __future__ import annotations

import http.client
import os
import sys
from urllib.parse import urlsplit

TIMEOUT_S = 4


def main() -> None:
    """Ask the address that the command line names, or /livez of this container's service."""
    default = f"http://127.0.0.1:{os.environ.get('TURNKEEPER_PORT', '8000')}/livez"
    address = urlsplit(sys.argv[1] if len(sys.argv) > 1 else default)
    # No proxy that the environment names stands between a container and itself.
    connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", address.path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"{address.geturl()} does not answer: {error}")
    finally:
        connection.close()
    if status != http.client.OK:
        sys.exit(f"{address.geturl()} answers {status}")


if __name__ == "__main__":
    main()
