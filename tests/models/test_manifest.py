"""The manifest: parsing, identity, verification."""

import hashlib
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import pytest

from models import (
    FilePin,
    ManifestError,
    ModelFileMismatchError,
    ModelFileMissingError,
    ModelManifest,
    VerifiedModel,
    parse_manifest,
)

CONTENTS = {"model.onnx": b"a graph", "tokenizer.json": b"{}"}
PINS = {
    name: FilePin(sha256=hashlib.sha256(content).hexdigest(), size=len(content)) for name, content in CONTENTS.items()
}
MANIFEST = ModelManifest(
    name="tiny",
    revision="1",
    licence="Apache-2.0",
    source="https://example.com/tiny",
    dimension=8,
    max_tokens=16,
    query_prefix="query: ",
    document_prefix="",
    metric="inner_product",
    files=PINS,
)
TOML = f"""
name = "tiny"
revision = "1"
licence = "Apache-2.0"
source = "https://example.com/tiny"
dimension = 8
max_tokens = 16
query_prefix = "query: "
document_prefix = ""
metric = "inner_product"

[files."model.onnx"]
sha256 = "{PINS["model.onnx"].sha256}"
size = 7

[files."tokenizer.json"]
sha256 = "{PINS["tokenizer.json"].sha256}"
size = 2
"""


def test_a_manifest_is_read_from_toml() -> None:
    assert parse_manifest(TOML, file="tiny.toml") == MANIFEST


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ('name = "tiny"', "", "name"),
        ('name = "tiny"', 'name = "../tiny"', "name"),
        ('name = "tiny"', 'name = "Tiny Model"', "name"),
        ('revision = "1"', "revision = 1", "revision"),
        ('revision = "1"', 'revision = ""', "revision"),
        ('licence = "Apache-2.0"', 'license = "Apache-2.0"', "licence"),
        ("dimension = 8", "dimension = 0", "dimension"),
        ("dimension = 8", 'dimension = "8"', "dimension"),
        ("dimension = 8", "dimension = 8.0", "dimension"),
        ("dimension = 8", "dimension = true", "dimension"),
        ("max_tokens = 16", "max_tokens = 2", "max_tokens"),
        ('query_prefix = "query: "', "query_prefix = []", "query_prefix"),
        ('metric = "inner_product"', 'metric = "l2"', "metric"),
        ('metric = "inner_product"', 'metric = "inner_product"\nsurprise = 1', "surprise"),
        ("size = 7", "size = 0", "files.model.onnx.size"),
        ("size = 7", "", "files.model.onnx.size"),
        ("size = 7", "size = 7\nmode = 420", "files.model.onnx.mode"),
        (PINS["model.onnx"].sha256, "abc", "files.model.onnx.sha256"),
        (PINS["model.onnx"].sha256, PINS["model.onnx"].sha256.upper(), "files.model.onnx.sha256"),
        ('[files."model.onnx"]', '[files."../model.onnx"]', "files.../model.onnx.[key]"),
        ('[files."model.onnx"]', '[files.".hidden"]', "files..hidden.[key]"),
    ],
)
def test_one_wrong_field_is_one_error_naming_the_field_and_the_file(before: str, after: str, field: str) -> None:
    assert before in TOML
    with pytest.raises(ManifestError) as caught:
        parse_manifest(TOML.replace(before, after, 1), file="tiny.toml")
    assert caught.value.field == field
    assert str(caught.value).startswith(f"model manifest tiny.toml: {field}: ")


@pytest.mark.parametrize("text", ["name = ", "\x00", "[files", TOML + TOML])
def test_what_is_not_toml_is_refused(text: str) -> None:
    with pytest.raises(ManifestError, match=r"^model manifest tiny\.toml: -: not TOML"):
        parse_manifest(text, file="tiny.toml")


def test_a_manifest_and_its_files_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        MANIFEST.dimension = 9  # type: ignore[misc]
    with pytest.raises(TypeError):
        MANIFEST.files["more"] = PINS["model.onnx"]  # type: ignore[index]


def test_the_identity_is_the_name_and_a_short_digest_and_stays_what_it_was() -> None:
    assert MANIFEST.identity == "tiny@59f70372802b19ec"


@pytest.mark.parametrize(
    "changed",
    [
        replace(MANIFEST, name="tiny-2"),
        replace(MANIFEST, revision="2"),
        replace(MANIFEST, dimension=9),
        replace(MANIFEST, max_tokens=17),
        replace(MANIFEST, query_prefix=""),
        replace(MANIFEST, document_prefix="query: "),
        replace(MANIFEST, query_prefix="", document_prefix="query: "),
        replace(MANIFEST, files={**PINS, "model.onnx": FilePin(sha256="0" * 64, size=7)}),
        replace(MANIFEST, files={"model.onnx": PINS["model.onnx"]}),
        replace(MANIFEST, files={}),
    ],
    ids=lambda changed: changed.identity,
)
def test_the_identity_changes_with_whatever_shapes_a_vector(changed: ModelManifest) -> None:
    assert changed.identity != MANIFEST.identity


def test_the_identity_does_not_change_with_prose_or_the_order_of_files() -> None:
    reordered = dict(reversed(PINS.items()))
    same = replace(MANIFEST, licence="MIT", source="elsewhere", files=reordered)
    assert same.identity == MANIFEST.identity


def test_exactly_the_pinned_bytes_are_verified() -> None:
    MANIFEST.verify(CONTENTS)
    assert VerifiedModel(manifest=MANIFEST, files=CONTENTS).files == CONTENTS


@pytest.mark.parametrize("name", CONTENTS)
def test_a_missing_file_is_named(name: str) -> None:
    files = {key: content for key, content in CONTENTS.items() if key != name}
    with pytest.raises(ModelFileMissingError) as caught:
        VerifiedModel(manifest=MANIFEST, files=files)
    assert caught.value.file == name


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_with_one_other_byte_is_named_with_both_digests(name: str) -> None:
    tampered = CONTENTS[name][:-1] + b"!"
    with pytest.raises(ModelFileMismatchError) as caught:
        VerifiedModel(manifest=MANIFEST, files={**CONTENTS, name: tampered})
    assert caught.value.file == name
    assert PINS[name].sha256 in str(caught.value)
    assert hashlib.sha256(tampered).hexdigest() in str(caught.value)


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("change", [lambda content: content + b" ", lambda content: content[:-1]])
def test_a_file_of_another_size_is_named(name: str, change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ModelFileMismatchError) as caught:
        MANIFEST.verify({**CONTENTS, name: change(CONTENTS[name])})
    assert caught.value.file == name


def test_a_file_that_is_not_pinned_is_refused() -> None:
    with pytest.raises(ModelFileMismatchError) as caught:
        MANIFEST.verify({**CONTENTS, "plugin.so": b"code"})
    assert caught.value.file == "plugin.so"


def test_a_verified_model_cannot_be_changed_afterwards() -> None:
    files = dict(CONTENTS)
    model = VerifiedModel(manifest=MANIFEST, files=files)
    files["model.onnx"] = b"another"
    assert model.files == CONTENTS
    with pytest.raises(TypeError):
        model.files["model.onnx"] = b"another"  # type: ignore[index]


def test_the_bytes_of_a_model_stay_out_of_its_repr() -> None:
    assert "a graph" not in repr(VerifiedModel(manifest=MANIFEST, files=CONTENTS))
