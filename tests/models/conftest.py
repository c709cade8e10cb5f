"""One loaded default model for all tests of `models`: it is immutable, and loading takes a third of a second."""

import pytest

from models import ModelManifest, VerifiedModel
from models.adapters.local_files import read_packaged_model
from models.adapters.onnx import OnnxEmbedder


@pytest.fixture(scope="session")
def packaged() -> VerifiedModel:
    return read_packaged_model()


@pytest.fixture(scope="session")
def manifest(packaged: VerifiedModel) -> ModelManifest:
    return packaged.manifest


@pytest.fixture(scope="session")
def onnx_embedder(packaged: VerifiedModel) -> OnnxEmbedder:
    return OnnxEmbedder(packaged, threads=1)


@pytest.fixture(scope="session")
def two_threads(packaged: VerifiedModel) -> OnnxEmbedder:
    return OnnxEmbedder(packaged, threads=2)
