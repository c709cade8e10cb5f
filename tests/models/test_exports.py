"""The public names of `models`."""

import subprocess
import sys

import models


def test_all_is_sorted_and_every_name_is_there() -> None:
    assert sorted(models.__all__) == list(models.__all__)
    assert all(hasattr(models, name) for name in models.__all__)


def test_importing_models_loads_no_engine() -> None:
    program = "import models, sys; sys.exit(bool({'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
