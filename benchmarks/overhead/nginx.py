"""nginx before the upstream as one would set it up for streams: unbuffered, connections to the upstream kept.

Above: the subjects. Below: nothing.
"""

from __future__ import annotations

from urllib.parse import urlsplit

_CONFIGURATION = """\
worker_processes 1;
daemon off;
pid nginx.pid;
error_log nginx.err;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path client_body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream model_server {{
        server {upstream};
        keepalive 256;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://model_server;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 600s;
        }}
    }}
}}
"""


def nginx_configuration(port: int, upstream: str) -> str:
    """Write the configuration for a port of this machine and the address of an upstream; files lie in its prefix."""
    return _CONFIGURATION.format(port=port, upstream=urlsplit(upstream).netloc)
