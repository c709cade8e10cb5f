"""What the files of a model folder may name: pinned files of the folder, and nothing else at any depth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import ModelLoadError
from models.adapters.folder_references import refuse_references
from models.adapters.model_folder import pins_of

SHARD, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


def written(folder: Path, **files: Any) -> Path:
    """A folder of two shards in which `files` stand as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (SHARD, SECOND, "weights.h5"):
        (folder / name).write_bytes(b"weights")
    for name, value in ({INDEX: {"metadata": {}, "weight_map": {"a": SHARD, "b": SECOND}}} | files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    return folder


def refused(folder: Path) -> None:
    refuse_references(folder, pins_of(folder))


def outcome(folder: Path) -> str:
    """What the one error says; empty where there is none."""
    try:
        refused(folder)
    except ModelLoadError as error:
        return str(error)
    return ""


USUAL: dict[str, Any] = {
    "config.json": {
        "_name_or_path": "org/base",
        "_attn_implementation": "sdpa",
        "text_config": {"_name_or_path": "org/inner", "attn_implementation": {"": "sdpa", "text_config": "eager"}},
        "label2id": {"file": 0},
        "drop_path": 0.1,
        "quantization_config": None,
    },
    "tokenizer_config.json": {"special_tokens_map_file": "/x", "tokenizer_file": None, "sp_model_kwargs": {}},
    "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
    "sentence_bert_config.json": {
        "max_seq_length": 256,
        "do_lower_case": False,
        "transformer_task": "feature-extraction",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
        "module_output_name": "token_embeddings",
        "query_length": None,
    },
    "training_args.json": {"data_file": "/never/read"},
}


def test_a_usual_folder_names_only_itself(tmp_path: Path) -> None:
    refused(written(tmp_path, **USUAL))


@pytest.mark.parametrize(
    "shard",
    [
        "../x.safetensors",
        "/etc/x.safetensors",
        f"./{SHARD}",
        f"1_Pooling/../{SHARD}",
        ".evil.bin",
        ".evil.safetensors",
        ".cache/evil.safetensors",
        "weights.h5",
        "gone.safetensors",
        f"..\\{SHARD}",
        "",
        7,
        None,
    ],
)
def test_a_shard_that_is_no_pinned_safetensors_of_the_folder_is_refused(tmp_path: Path, shard: Any) -> None:
    folder = written(tmp_path / "m", **{INDEX: {"metadata": {}, "weight_map": {"a": SHARD, "b": shard}}})
    (tmp_path / "x.safetensors").write_bytes(b"weights")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "evil.safetensors").write_bytes(b"weights")
    with pytest.raises(ModelLoadError, match=r"index\.json: weight_map\.'b': names no \*\.safetensors of this folder"):
        refused(folder)


def test_a_nested_index_names_the_shards_beside_it(tmp_path: Path) -> None:
    folder = written(tmp_path, **{f"0_Transformer/{INDEX}": {"weight_map": {"a": SHARD}}})
    with pytest.raises(ModelLoadError, match=r"0_Transformer/model\.safetensors\.index\.json: weight_map\.'a'"):
        refused(folder)
    (folder / "0_Transformer" / SHARD).write_bytes(b"weights")
    refused(folder)


ELSEWHERE: list[tuple[str, str, Any]] = [
    ("config.json", "transformers_weights", "other.safetensors"),
    ("config.json", "base_model_name_or_path", "org/other"),
    ("config.json", "configuration_files", ["../config.4.0.0.json"]),
    ("config.json", "_attn_implementation", "org/kernels"),
    ("config.json", "attn_implementation", {"": "sdpa", "text_config": "org/kernels"}),
    ("config.json", "attn_implementation", "flash_attention_2"),
    ("config.json", "experts_implementation", "org/kernels"),
    ("config.json", "quantization_config", {"quant_method": "fp8"}),
    ("config.json", "backbone", "org/other"),
    ("config.json", "model_args", {"checkpoint_path": "/x.bin"}),
    ("1_Pooling/config.json", "model_path", "/x"),
    ("tokenizer_config.json", "vocab_file", "/etc/passwd"),
    ("tokenizer_config.json", "fast_tokenizer_files", ["../tokenizer.4.0.0.json"]),
    ("tokenizer_config.json", "mecab_kwargs", {"mecab_option": "-d /x"}),
    ("processor_config.json", "audio_tokenizer_name_or_path", "org/other"),
]


@pytest.mark.parametrize(("file", "key", "value"), ELSEWHERE)
@pytest.mark.parametrize("depth", [0, 2])
def test_a_configuration_that_names_something_else_is_refused_at_any_depth(
    tmp_path: Path, file: str, key: str, value: Any, depth: int
) -> None:
    said: dict[str, Any] = {key: value}
    for _ in range(depth):
        said = {"text_config": [said]}
    with pytest.raises(ModelLoadError, match=rf"{file}: '{key}': ") as error:
        refused(written(tmp_path, **{file: said}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"transformer_task": "retrieval"}, "transformer_task: must be 'feature-extraction'"),
        ({"transformer_task": None}, "transformer_task: must be 'feature-extraction'"),
        ({"modality_config": {"text": {"method": "push_to_hub"}}}, "each method must be 'forward'"),
        ({"modality_config": None}, "each method must be 'forward'"),
        ({"tokenizer_name_or_path": "org/other"}, "may make the library load something else"),
        ({"model_kwargs": {"trust_remote_code": True}}, "may make the library load something else"),
        ({"backend": "onnx"}, "'backend': may make the library load something else"),
    ],
)
def test_only_known_settings_of_a_transformer_are_taken(tmp_path: Path, settings: Any, told: str) -> None:
    with pytest.raises(ModelLoadError, match=rf"sentence_roberta_config\.json: .*{told}"):
        refused(written(tmp_path, **{"sentence_roberta_config.json": settings}))


keys = st.sampled_from([*(key for _, key, _ in ELSEWHERE), "weight_map", "transformer_task", "modality_config", "a"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([SHARD, "sdpa"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([INDEX, *USUAL]), values, min_size=1))
def test_any_configuration_is_taken_or_is_one_error_that_names_its_file(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, Any]
) -> None:
    told = outcome(written(tmp_path_factory.mktemp("model"), **files))
    assert not told or any(name in told for name in files)
    assert "\n" not in told
