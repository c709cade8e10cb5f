"""What the configuration files of a model folder may say: any bytes give settings or one error that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import ModelLoadError
from models.adapters.folder_settings import LENGTHS, MAX_PROMPT, FolderSettings, read_settings

OWN = "sentence_transformers.models."
USUAL: dict[str, Any] = {
    "modules.json": [{"type": f"{OWN}Transformer", "path": ""}, {"type": f"{OWN}Pooling", "path": "1_Pooling"}],
    "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
    "config_sentence_transformers.json": {"prompts": {"query": "ask: ", "passage": "tell: "}},
    "config.json": {"hidden_size": 384, "max_position_embeddings": 512},
}
FILES = sorted(USUAL)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from("type path prompts query document passage max_seq_length max_position_embeddings".split())


def written(folder: Path, **changed: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        value = changed.get(name, USUAL[name])
        if isinstance(value, bytes):
            (folder / name).write_bytes(value)
        elif value is not ...:
            (folder / name).write_text(json.dumps(value))
    return folder


def test_prompts_and_the_longest_input_are_read(tmp_path: Path) -> None:
    expected = FolderSettings(query_prompt="ask: ", document_prompt="tell: ", max_tokens=256)
    assert read_settings(written(tmp_path)) == expected


def test_what_a_folder_does_not_say_is_empty(tmp_path: Path) -> None:
    bare = written(tmp_path, **{name: ... for name in FILES if name != "modules.json"})
    assert read_settings(bare) == FolderSettings(query_prompt="", document_prompt="", max_tokens=None)
    nulls = {"config_sentence_transformers.json": {"prompts": {"query": None, "document": ""}}}
    assert read_settings(written(tmp_path, **nulls)).query_prompt == ""


def outcome(folder: Path) -> FolderSettings | str:
    """What is read, or what the one error says."""
    try:
        return read_settings(folder)
    except ModelLoadError as error:
        return str(error)


WRONG: list[tuple[str, Any, str]] = [
    ("modules.json", ..., "is missing"),
    ("modules.json", b"{", "is not JSON"),
    ("modules.json", b"\xff", "is not JSON"),
    ("modules.json", b"[" * 200_000, "is not JSON"),
    ("modules.json", [], "needs a list of modules"),
    ("modules.json", {}, "needs a list of modules"),
    ("modules.json", [7], r"\[0\]: needs a type and a path"),
    ("modules.json", [{"type": f"{OWN}Transformer"}], r"\[0\]: needs a type and a path"),
    ("modules.json", [{"type": "os.system", "path": ""}], "not sentence-transformers' own"),
    ("modules.json", [{"type": "sentence_transformersx.models.Transformer", "path": ""}], "sentence-transformers' own"),
    ("modules.json", [{"type": f"{OWN}Router", "path": ""}], "only Dense, .* are loaded here"),
    ("modules.json", [{"type": f"{OWN}Pooling", "path": "../other"}], "leads out of the folder"),
    ("modules.json", [{"type": f"{OWN}Pooling", "path": "/etc"}], "leads out of the folder"),
    ("sentence_bert_config.json", {"max_seq_length": 10**30}, "max_seq_length: must be 3 to 512 tokens"),
    ("sentence_bert_config.json", {"max_seq_length": 513}, "max_seq_length: must be 3 to 512 tokens"),
    ("sentence_bert_config.json", {"max_seq_length": -1}, "max_seq_length: must be"),
    ("sentence_bert_config.json", {"max_seq_length": 1e400}, "is not JSON"),
    ("sentence_bert_config.json", {"max_seq_length": "256"}, "max_seq_length: must be"),
    ("sentence_bert_config.json", {"max_seq_length": True}, "max_seq_length: must be"),
    ("sentence_bert_config.json", b'{"max_seq_length": NaN}', "is not JSON"),
    ("sentence_bert_config.json", b'{"max_seq_length": ' + b"9" * 9_999 + b"}", "is not JSON"),
    ("sentence_bert_config.json", [], "must be one JSON object"),
    ("config_sentence_transformers.json", {"prompts": []}, "prompts: must be an object"),
    ("config_sentence_transformers.json", {"prompts": {"query": 7}}, "prompts.'query': must be text"),
    ("config_sentence_transformers.json", {"prompts": {"query": "a" * (MAX_PROMPT + 1)}}, "at most 2000 characters"),
    ("config_sentence_transformers.json", {"prompts": {"query": "\ud800"}}, "valid Unicode"),
    ("config_sentence_transformers.json", b"null", "is null"),
]


@pytest.mark.parametrize(("file", "value", "told"), WRONG)
def test_a_wrong_file_is_one_error_that_names_it(tmp_path: Path, file: str, value: Any, told: str) -> None:
    with pytest.raises(ModelLoadError, match=told) as refused:
        read_settings(written(tmp_path, **{file: value}))
    assert file in str(refused.value)
    assert "\n" not in str(refused.value)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(FILES),
        st.binary(max_size=40) | json_values | st.dictionaries(keys, json_values | st.dictionaries(keys, json_values)),
    )
)
def test_any_configuration_gives_settings_that_a_manifest_takes_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, changed: dict[str, Any]
) -> None:
    folder = written(tmp_path_factory.mktemp("model"), **changed)
    read = outcome(folder)
    if isinstance(read, str):
        assert any(name in read for name in changed)
        assert "\n" not in read
        return
    assert read.max_tokens is None or read.max_tokens in LENGTHS
    for prompt in (read.query_prompt, read.document_prompt):
        assert len(prompt) <= MAX_PROMPT
        prompt.encode()
