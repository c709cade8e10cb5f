"""An artefact is believed only where every byte and count agrees; anything else is an `ArtefactError`."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.artefact import FILES, NPY_HEADER_BYTES, Artefact, FileEntry, read_manifest
from indexer.contents import read_contents
from indexer.errors import ArtefactError
from indexer.npy import from_npy, header, rows_to_npy, to_npy
from indexer.sealed_ledger import read_ledger
from tests.indexer.samples import artefact, json_values, release

SOUND = artefact()


def resealed(files: Mapping[str, bytes], **changed: Any) -> Artefact:
    """What somebody could publish who can compute a sha256."""
    entries = {name: FileEntry.of(data) for name, data in files.items()}
    manifest = SOUND.manifest.model_copy(update={"files": entries, **changed})
    return Artefact(manifest=manifest, files=files)


def with_file(name: str, data: bytes) -> Artefact:
    return resealed({**SOUND.files, name: data})


def npy(values: Any, dtype: str) -> bytes:
    return to_npy(np.array(values, dtype=dtype))


def test_the_manifest_survives_its_bytes() -> None:
    manifest = read_manifest(SOUND.manifest.to_bytes())
    assert manifest == SOUND.manifest
    assert manifest.version == SOUND.version
    assert len(SOUND.version) == 32


def test_an_artefact_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SOUND.files["names.json"] = b"[]"  # type: ignore[index]
    with pytest.raises(TypeError):
        SOUND.manifest.files["names.json"] = FileEntry.of(b"")  # type: ignore[index]
    with pytest.raises(TypeError):
        SOUND.manifest.model_files["model.onnx"] = "0" * 64  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        read_contents(SOUND).vectors[0, 0] = 1.0


@given(st.data())
def test_any_changed_byte_is_found_before_anything_is_parsed(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    content = bytearray(SOUND.files[name])
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    damaged = Artefact(manifest=SOUND.manifest, files={**SOUND.files, name: bytes(content)})
    with pytest.raises(ArtefactError, match="damaged"):
        damaged.verify()


@given(st.data())
def test_hostile_bytes_under_a_right_seal_give_contents_or_an_artefact_error(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    content = SOUND.files[name]
    at = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(at, len(content)))
    hostile = content[:at] + data.draw(st.binary(max_size=16)) + content[end:]
    try:
        contents = read_contents(with_file(name, hostile))
    except ArtefactError:
        return
    assert contents.vectors.shape == (3, 16)
    assert np.isfinite(contents.vectors).all()


@given(st.binary(max_size=100) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_give_a_manifest_and_a_ledger_or_an_artefact_error(data: bytes) -> None:
    for read in (read_manifest, partial(read_ledger, application="app")):
        with pytest.raises(ArtefactError):
            read(data)


@pytest.mark.parametrize("said", [1, 2, 4])
def test_another_versions_format_is_one_error_whatever_else_differs(said: int) -> None:
    told = rf"written by another version of toolsurface \(its format is {said}, read here is 3\)$"
    for manifest in ({"format": said}, json.loads(SOUND.manifest.to_bytes()) | {"format": said, "new": 7}):
        with pytest.raises(ArtefactError, match=told):
            read_manifest(json.dumps(manifest).encode())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_revision", ""),
        ("model_revision", "\ud800"),
        ("model_files", {"model.onnx": "abc"}),
        ("model_files", {"a b": "0" * 64}),
        ("model_files", {f"{number}": "0" * 64 for number in range(257)}),
    ],
)
def test_what_no_model_has_is_refused(field: str, value: Any) -> None:
    changed = json.dumps(json.loads(SOUND.manifest.to_bytes()) | {field: value}).encode()
    with pytest.raises(ArtefactError, match=rf"^manifest\.json: {field}"):
        read_manifest(changed)


def test_the_largest_model_there_can_be_fits_into_a_manifest() -> None:
    files = {f"{number:04}".ljust(200, "x"): "0" * 64 for number in range(256)}
    manifest = SOUND.manifest.model_copy(update={"model_files": files})
    assert read_manifest(manifest.to_bytes()).model_files == files


@given(st.sampled_from(sorted(json.loads(SOUND.manifest.to_bytes()))), json_values)
def test_any_json_in_any_field_gives_a_manifest_or_an_artefact_error(field: str, value: Any) -> None:
    data = json.dumps(json.loads(SOUND.manifest.to_bytes()) | {field: value}).encode()
    try:
        read_manifest(data)
    except ArtefactError as error:
        str(error).encode()


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("names.json", b'["a","b"]', "must be a list of 3 strings"),
        ("names.json", b'["b","a","c"]', "must be sorted"),
        ("names.json", b'["a","a","c"]', "must be sorted"),
        ("names.json", b'["a","b",3]', "must be a list of 3 strings"),
        ("names.json", b'["a","b","\\ud800"]', "lone surrogate"),
        ("names.json", b"[" * 100_000, "nests too deep"),
        ("digests.json", json.dumps(["0" * 32] * 3).encode(), "not those of the manifest's catalog"),
        ("digests.json", b'["a","b","c"]', "must hold digests"),
        ("texts.json", b'["a","b","c"]', "must hold digests"),
        ("vectors.npy", npy(np.zeros((3, 8)), "<f4"), "shape (3, 16)"),
        ("vectors.npy", npy(np.zeros((3, 16)), "<f8"), "type <f4"),
        ("vectors.npy", npy(np.full((3, 16), np.nan), "<f4"), "finite vectors"),
        ("vectors.npy", npy(np.full((3, 16), np.inf), "<f4"), "finite vectors"),
        ("vectors.npy", npy(np.full((3, 16), 3e38), "<f4"), "finite vectors"),
        ("vectors.npy", SOUND.files["vectors.npy"] + b"\0", "more or fewer"),
        ("vectors.npy", SOUND.files["vectors.npy"][:-4], "more or fewer"),
        ("vectors.npy", b"", "is not a .npy file"),
    ],
)
def test_parts_that_disagree_are_named(name: str, data: bytes, told: str) -> None:
    with pytest.raises(ArtefactError) as caught:
        read_contents(with_file(name, data))
    assert told in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("starts.npy", lambda starts, rows, impacts: starts.__setitem__(0, 1), "must rise"),
        ("starts.npy", lambda starts, rows, impacts: starts.__setitem__(1, 10**12), "must rise"),
        ("starts.npy", lambda starts, rows, impacts: starts.__setitem__(2, 0), "must rise"),
        ("rows.npy", lambda starts, rows, impacts: rows.__setitem__(0, 3), "must be rows of tools"),
        ("rows.npy", lambda starts, rows, impacts: rows.__setitem__(0, -1), "must be rows of tools"),
        ("rows.npy", lambda starts, rows, impacts: rows.__setitem__(slice(None), 0), "must rise within each word"),
        ("impacts.npy", lambda starts, rows, impacts: impacts.__setitem__(0, np.nan), "finite and positive"),
        ("impacts.npy", lambda starts, rows, impacts: impacts.__setitem__(0, -1.0), "finite and positive"),
    ],
)
def test_lexical_arrays_that_lead_astray_are_refused(name: str, change: Callable[..., None], told: str) -> None:
    lexical = read_contents(SOUND).lexical
    arrays: dict[str, Any] = {
        "starts.npy": lexical.starts.copy(),
        "rows.npy": lexical.rows.copy(),
        "impacts.npy": lexical.impacts.copy(),
    }
    change(*arrays.values())
    with pytest.raises(ArtefactError, match=told):
        read_contents(with_file(name, to_npy(arrays[name])))


def test_a_manifest_can_name_no_file_of_its_own() -> None:
    for files in ({**SOUND.files, "../../etc/passwd": b""}, {"names.json": b"[]"}):
        hostile = resealed(files)
        with pytest.raises(ArtefactError, match="files"):
            read_manifest(hostile.manifest.to_bytes())
        with pytest.raises(ArtefactError, match="files"):
            hostile.verify()


@pytest.mark.parametrize("count", ["tools", "dimension", "words", "postings"])
def test_counts_that_would_ask_for_terabytes_allocate_nothing(count: str) -> None:
    with pytest.raises(ArtefactError):
        read_contents(resealed(SOUND.files, **{count: 60_000}))


@given(
    st.sampled_from(["<f4", "<f8", "<i4", "<i8"]),
    st.lists(st.integers(0, 5), min_size=1, max_size=2).map(tuple) | st.just((123_456,)),
)
def test_numpy_reads_what_is_written_and_writes_what_is_read(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)
    data = to_npy(array)
    np.testing.assert_array_equal(np.load(io.BytesIO(data), allow_pickle=False), array)
    np.testing.assert_array_equal(from_npy(data, dtype=dtype, shape=shape, name="x"), array)


def test_the_id_of_a_release_follows_from_its_content() -> None:
    one = release(SOUND)
    assert one.id == release(SOUND).id != release(SOUND, deploy="d2").id


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_size_that_the_counts_do_not_ask_for_is_refused_before_any_file_is_read(name: str) -> None:
    plain = json.loads(SOUND.manifest.to_bytes())
    for size in (0, 8 * 1024**3):
        plain["files"][name]["size"] = size
        with pytest.raises(ArtefactError, match=rf"files\.{re.escape(name)}\.size: its counts ask for"):
            read_manifest(json.dumps(plain).encode())


def test_counts_that_ask_for_more_than_an_artefact_may_weigh_are_refused() -> None:
    plain = json.loads(SOUND.manifest.to_bytes())
    tools, dimension = 1_000_000, 2_140
    plain |= {"tools": tools, "dimension": dimension}
    for name in ("digests.json", "texts.json"):
        plain["files"][name]["size"] = 1 + 35 * tools
    plain["files"]["names.json"]["size"] = 6 * tools
    plain["files"]["vectors.npy"]["size"] = NPY_HEADER_BYTES + 4 * tools * dimension
    with pytest.raises(ArtefactError, match="are larger than"):
        read_manifest(json.dumps(plain).encode())


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 1), (2**31, 65_536)])
def test_the_head_of_an_array_is_as_long_as_sizes_are_counted_with(shape: tuple[int, ...]) -> None:
    assert len(header("<f4", shape)) == NPY_HEADER_BYTES


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 1), (300, 16)])
def test_rows_one_by_one_give_the_file_of_the_whole_array(shape: tuple[int, int]) -> None:
    array = np.random.default_rng(1).random(shape, dtype=np.float32)
    assert rows_to_npy(iter(array), shape=shape) == to_npy(array)
    assert rows_to_npy(np.asfortranarray(array), shape=shape) == to_npy(array)


@pytest.mark.parametrize("shape", [(2, 4), (4, 4), (3, 5), (3, 0), (2, 6), (12, 1)])
def test_rows_that_are_not_of_their_shape_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="rows: are not"):
        rows_to_npy(np.zeros((3, 4), dtype=np.float32), shape=shape)
