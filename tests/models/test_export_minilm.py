"""The command that makes the default model, as far as it runs without the packages it needs."""

from pathlib import Path

import pytest

from models.adapters.export_minilm import main


def test_help_needs_no_extra_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "--weights" in capsys.readouterr().out


def test_weights_that_are_not_the_published_ones_are_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    assert main(["--weights", str(tmp_path), str(tmp_path / "out")]) == 1
    assert "model.safetensors: 13 bytes where 90868376 are pinned" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
