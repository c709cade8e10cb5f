"""The wheel as a user gets it: built, installed into a clean environment, with the source tree out of reach."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("surface", "indexer", "selector", "models")
HEAVY = ("numpy", "faiss", "torch", "onnxruntime", "tokenizers", "fastapi", "redis", "jsonschema", "httpx2")
IMPORT_SURFACE = f"""
import json, sys
import surface, surface.adapters.anthropic_messages, surface.adapters.openai_chat, surface.adapters.openai_responses
heavy = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps({{"file": surface.__file__, "heavy": heavy, "version": surface.__version__}}))
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, into=tmp_path_factory.mktemp("wheel"))


def built(source: Path, *, into: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(into), str(source)],
        check=True,
        capture_output=True,
    )
    (wheel,) = into.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def clean_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and what it requires, nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    return python


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, cwd=cwd, check=False, env={"PATH": "/usr/bin:/bin"}
    )


def test_the_wheel_holds_exactly_the_four_packages_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    packages = {top for top in tops if not top.endswith(".dist-info")}
    assert packages == {*PACKAGES, "toolsurface.py"}


def test_what_the_image_is_built_from_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
        for one in (ROOT / name for name in line.split()):
            if one.is_dir():
                shutil.copytree(one, source / one.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(one, source)
    assert contents(built(source, into=tmp_path)) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    """The checksums of what a wheel holds, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {one.filename: one.CRC for one in archive.infolist()}


def test_the_wheel_holds_every_file_of_the_packages_the_console_and_the_model_too(wheel: Path) -> None:
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {name for name in files if not name.endswith(".py")}
    assert {"selector/console/index.html", "selector/console/console.js", "selector/console/console.css"} < data
    assert {name.rpartition("/")[2] for name in data} >= {"model.onnx", "tokenizer.json", "py.typed"}
    with zipfile.ZipFile(wheel) as archive:
        assert files - set(archive.namelist()) == set()


def test_the_wheel_brings_the_model_its_notice_and_the_type_markers_and_stays_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"{part}/py.typed" for part in PACKAGES} <= names
    assert "models/weights/NOTICE" in names
    assert any(name.endswith("tool-minilm-l6-1/model.onnx") for name in names)
    assert wheel.stat().st_size < 25 * 2**20


def test_a_clean_environment_imports_the_surface_and_its_dialects_without_anything_heavy(
    clean_python: Path, tmp_path: Path
) -> None:
    ran = run(clean_python, "-W", "error", "-c", IMPORT_SURFACE, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["heavy"] == []
    assert str(ROOT) not in told["file"]


def test_a_command_whose_extra_is_missing_says_what_to_install(clean_python: Path, tmp_path: Path) -> None:
    ran = run(clean_python.parent / "toolsurface", "deploy", "catalog.json", "--store", "store", cwd=tmp_path)
    assert ran.returncode == 2
    assert "pip install 'toolsurface[indexer]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_help_of_a_plain_install_lists_every_command(clean_python: Path, tmp_path: Path) -> None:
    ran = run(clean_python.parent / "toolsurface", "--help", cwd=tmp_path)
    assert ran.returncode == 0
    for command in ("advise", "export", "import", "deploy", "status", "serve", "key", "rank", "evaluate"):
        assert command in ran.stdout
