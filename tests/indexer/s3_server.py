"""A server that speaks S3 over HTTP: moto's, in a process of its own. It answers one request at a time, as moto
compares an ETag and stores an object in two steps.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from urllib.request import Request, urlopen

_SERVING = """
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

class Quiet(WSGIRequestHandler):
    def log(self, *_): pass

server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), request_handler=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
"""
_SIGNED = "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x"


def s3_settings(endpoint: str, *, secret: str = "secret") -> Mapping[str, str]:  # noqa: S107 - of our own server
    """What an operator sets."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": secret,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A server process of the test's own."""

    process: subprocess.Popen[str]
    url: str


@contextmanager
def running_s3(bucket: str) -> Iterator[S3Server]:
    """A server that has one empty bucket, for as long as the block lasts."""
    with subprocess.Popen([sys.executable, "-c", _SERVING], stdout=subprocess.PIPE, text=True) as process:
        patience = Timer(60.0, process.kill)  # which ends the line that is waited for
        patience.start()
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            request = Request(f"{url}/{bucket}", method="PUT", headers={"Authorization": _SIGNED})  # noqa: S310
            patience.cancel()
            with urlopen(request, timeout=60) as answer:  # noqa: S310 - both: our own server
                assert answer.status == 200
            yield S3Server(process=process, url=url)
        finally:
            patience.cancel()
            process.kill()


@contextmanager
def serving_s3(bucket: str) -> Iterator[str]:
    """The address of such a server."""
    with running_s3(bucket) as server:
        yield server.url
