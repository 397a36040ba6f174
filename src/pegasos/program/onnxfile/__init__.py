"""Export fitted models to ONNX, for use without Python or this package."""

try:
    from pegasos.program.onnxfile.model import Exported, Input, export_onnx
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise ModuleNotFoundError(
        "ONNX files need the package onnx: pip install '.[onnx]' in a clone", name="onnx"
    ) from None

__all__ = ["Exported", "Input", "export_onnx"]
