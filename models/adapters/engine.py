"""ONNX Runtime, which tells nobody that it is used.

From 1.32 on its wheels count what is run on which machine, by which program, keep that in the user's cache folder and
send it to their maker, unless this variable is set before they are imported. Whoever wants that says so: a variable
that is set already stays as it is.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

__all__ = ["onnxruntime"]
