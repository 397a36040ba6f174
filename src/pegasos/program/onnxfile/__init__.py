"""ONNX files: a fitted model for programs that know neither Python nor pegasos."""

try:
    from pegasos.program.onnxfile.model import Exported, Input, export_onnx
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise ModuleNotFoundError(
        "ONNX files need the package onnx: pip install '.[onnx]' in a clone", name="onnx"
    ) from None

__all__ = ["Exported", "Input", "export_onnx"]
