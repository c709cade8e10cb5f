"""`make image`: builds the image, and runs it the way the manifests do, without a network.

    python -m deployment.image [--builder podman] [--tag toolsurface:0.1.0] [--build="OPTIONS"] [--run="OPTIONS"]

In one container a catalog is deployed into a volume, in another one it is served: root file system read-only, no
capability, no network, no user of the system. So what the image needs beside itself would be missed.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from surface._version import __version__

ROOT = Path(__file__).parents[1]
CATALOG = ROOT / "deployment" / "example" / "catalog.json"
QUERY = {"version": 1, "query": "which customers have overdue invoices", "limit": 3}
BUILDERS = ("docker", "podman")
CONFINED = ("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp")

NEW_KEY = ("key", "new", "--application=shop", "--json")
DEPLOYING = ("deploy", "/work/catalog.json", "--store=/work/store", "--no-cache")
SERVING = ("serve", "--store=/work/store", "--host=0.0.0.0", "--port=8080", "--keys=/work/keys")

WHAT_IS_INSIDE = """
import importlib.util, json, os, shutil
tools = [name for name in ("gcc", "cc", "make", "pip", "pip3") if shutil.which(name)]
print(json.dumps({"uid": os.getuid(), "tools": tools, "pip": importlib.util.find_spec("pip") is not None}))
"""
ASK = """
import json, sys, urllib.error, urllib.request
method, path, key, body = json.loads(sys.argv[1])
headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + key} if key else {})
data = json.dumps(body).encode() if body is not None else None
try:
    asked = urllib.request.Request("http://127.0.0.1:8080" + path, data, headers, method=method)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        print(json.dumps([answer.status, json.load(answer)]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, None]))
except OSError:
    print(json.dumps([0, None]))
"""


class FailedError(Exception):
    """One sentence: what the image does not do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A built image, and how containers of it are run."""

    builder: str
    tag: str
    options: tuple[str, ...]

    def once(self, *arguments: str, options: Sequence[str] = ()) -> str:
        """What a container says on standard output until it ends; raises FailedError where it does not end well."""
        return _said(self.builder, "run", "--rm", *CONFINED, *self.options, *options, self.tag, *arguments)

    def python(self, source: str) -> str:
        """The same for a few lines of Python in it."""
        return _said(
            self.builder, "run", "--rm", *CONFINED, *self.options, "--entrypoint=python", self.tag, "-c", source
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m deployment.image", description="Builds the image and tries it.")
    parser.add_argument("--builder", choices=BUILDERS, help="(default: the first there is)")
    parser.add_argument("--tag", default=f"toolsurface:{__version__}", help="(default: %(default)s)")
    parser.add_argument("--build", default="", metavar="OPTIONS", help="more options of `build`, as one word")
    parser.add_argument("--run", default="", metavar="OPTIONS", help="more options of `run`, likewise")
    asked = parser.parse_args(arguments)
    builder = asked.builder or next((name for name in BUILDERS if shutil.which(name)), None)
    if builder is None or shutil.which(builder) is None:
        print(f"no {asked.builder or ' and no '.join(BUILDERS)} here; install one, or build elsewhere", file=sys.stderr)
        return 2
    started = time.monotonic()
    # OCI images carry no HEALTHCHECK, so podman is asked for the other format; docker makes no other one.
    form = ("--format=docker",) if builder == "podman" else ()
    built = subprocess.run(
        [builder, "build", *form, "--tag", asked.tag, *shlex.split(asked.build), str(ROOT)],
        check=False,
        stdout=sys.stderr,
    )
    if built.returncode:
        print("the image was not built; the lines above say why", file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    try:
        size = int(_said(builder, "image", "inspect", "--format", "{{.Size}}", asked.tag))
        print(f"built {asked.tag}: {size / 1e6:.0f} MB in {seconds:.0f} s")
        try_out(Image(builder=builder, tag=asked.tag, options=tuple(shlex.split(asked.run))))
    except FailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def try_out(image: Image) -> None:
    """Runs it; raises FailedError where it is not what the manifests rely on."""
    inside = json.loads(image.python(WHAT_IS_INSIDE))
    _must(inside == {"uid": 10001, "tools": [], "pip": False}, f"it should hold no build tools, run as 10001: {inside}")
    key = json.loads(image.once(*NEW_KEY))
    with TemporaryDirectory() as there:
        folder = Path(there)
        folder.chmod(0o777)  # the container's user is nobody here
        (folder / "keys").write_text(key["entry"], encoding="utf-8")
        shutil.copy(CATALOG, folder / "catalog.json")
        mounts = (f"--volume={folder}:/work:z",)
        print(image.once(*DEPLOYING, options=mounts).strip())
        _serve(image, mounts, key["key"])


def _serve(image: Image, mounts: Sequence[str], key: str) -> None:
    name = f"toolsurface-{uuid4().hex[:8]}"
    started = time.monotonic()
    _said(image.builder, "run", "--detach", "--name", name, *CONFINED, *image.options, *mounts, image.tag, *SERVING)
    try:
        while _asked(image, name, "GET", "/health/ready")[0] != 200:
            if time.monotonic() > started + 60:
                raise FailedError("it did not become ready: " + _said(image.builder, "logs", name))
        print(f"ready {time.monotonic() - started:.1f} s after it was started, container and questions included")
        path = "/v1/applications/shop/surfaces/clerk/rank"
        _must(_asked(image, name, "GET", "/health/live")[0] == 200, "/health/live should be open")
        _must(_asked(image, name, "POST", path, body=QUERY)[0] == 401, "a question without a key should be refused")
        status, reply = _asked(image, name, "POST", path, key=key, body=QUERY)
        _must(
            status == 200 and reply["ranked"][0]["name"] == "overdue_invoices", f"a question with it: {status}, {reply}"
        )
        _said(image.builder, "stop", name)
        code = _said(image.builder, "inspect", "--format", "{{.State.ExitCode}}", name).strip()
        _must(code == "0", f"SIGTERM should end it with 0, not {code}")
    finally:
        _said(image.builder, "rm", "--force", name)
    print("live, ready, refuses without a key, ranks with one, ends well; read-only, without a network, as uid 10001")


def _asked(
    image: Image, name: str, method: str, path: str, *, key: str = "", body: object = None
) -> tuple[int, dict[str, list[dict[str, object]]]]:
    """Status (0: it does not answer) and body of a request that is made inside the container."""
    question = json.dumps([method, path, key, body])
    status, answer = json.loads(_said(image.builder, "exec", name, "python", "-c", ASK, question))
    return status, answer


def _must(true: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as a sentence
    if not true:
        raise FailedError(otherwise)


def _said(*command: str) -> str:
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode:
        raise FailedError(f"{shlex.join(command[:2])} ended with {ran.returncode}: {ran.stderr.strip()[-2000:]}")
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main())
