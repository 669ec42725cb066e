"""A personal model as the bytes of a file: its tensors, or a program that needs no fedkin."""

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save as to_safetensors
from torch import Tensor

from fedkin.core.errors import FedkinError, first_line, unknown
from fedkin.core.tree import BUFFER, Tree, named_leaves
from fedkin.export.personal import Personal

SAMPLES = "samples"  # the dimension of a program that is free


class Exported(NamedTuple):
    """``content``: the file. ``run``: its outputs for samples, as another program would get them;
    None: no program.
    """

    content: bytes
    run: Callable[[Tensor], Tensor] | None


def safetensors(personal: Personal, view: Tree, x: Tensor, about: Mapping[str, Any]) -> Exported:
    """What ``load_state_dict`` of the torch module takes, with the card as metadata; of a model
    that is no module's, its tensors. No program is in it.

    Args:
        personal: The model.
        view: What the method predicts with, with frozen parameters.
        x: Samples [n, …], which are not used: tensors are of any number of samples.
        about: The card.

    Returns:
        The file; its ``run`` is None.

    Raises:
        FedkinError: The module keeps no place for what training changed.
    """
    held = personal.module_state(view)
    if held is None:
        held = {_plain_name(name): torch.as_tensor(leaf) for name, leaf in named_leaves(view)}
    # cloned: a file holds no tensor under two names
    tensors = {name: leaf.contiguous().clone() for name, leaf in held.items()}
    return Exported(to_safetensors(tensors, {"card": json.dumps(about)}), None)


def pt2(personal: Personal, view: Tree, x: Tensor, about: Mapping[str, Any]) -> Exported:
    """A torch.export program, of any number of samples: ``torch.export.load(file).module()(x)``.

    Args:
        personal: The model.
        view: What the method predicts with, which is not used: the program holds it.
        x: Samples [n, …] that the program is traced on.
        about: The card, which is not used.

    Returns:
        The file, and the program as another process would load it.

    Raises:
        FedkinError: The model cannot become a program of its own.
    """
    program, file = _program(personal, x), io.BytesIO()
    with _quiet():
        torch.export.save(program, file)
        again: Any = torch.export.load(io.BytesIO(file.getvalue())).module()
    return Exported(file.getvalue(), again)


def onnx(personal: Personal, view: Tree, x: Tensor, about: Mapping[str, Any]) -> Exported:
    """An ONNX program: input ``x``, output ``y``, any number of samples.

    Args:
        personal: The model.
        view: What the method predicts with, which is not used: the program holds it.
        x: Samples [n, …] that the program is traced on.
        about: The card, which is not used.

    Returns:
        The file, and the program as onnxruntime runs it on the CPU.

    Raises:
        FedkinError: The extra ``onnx`` is not installed, or the model cannot be written as ONNX.
    """
    try:
        import onnxruntime
        import onnxscript  # noqa: F401  # torch asks for it late, and in many words
    except ImportError:
        raise FedkinError(
            "--format onnx needs onnx, onnxscript and onnxruntime, the extra onnx: in fedkin's "
            "checkout, pip install -c constraints.txt '.[onnx]'"
        ) from None
    with _quiet():
        program = _program(personal, x)
        try:
            made: Any = torch.onnx.export(
                program, dynamo=True, input_names=["x"], output_names=["y"], verbose=False
            )
        except Exception as error:  # whatever torch cannot say in ONNX
            raise FedkinError(
                f"this model cannot be written as ONNX ({first_line(error)}): --format pt2"
            ) from None
        content: bytes = _named(made.model_proto).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return Exported(
        content,
        lambda samples: torch.from_numpy(np.asarray(session.run(["y"], {"x": samples.numpy()})[0])),
    )


def _named(proto: Any) -> Any:
    """The program with its first dimension called SAMPLES, where torch gives it a letter and a
    number.
    """
    graph = proto.graph
    letters = {
        value.type.tensor_type.shape.dim[0].dim_param
        for value in graph.input
        if value.type.tensor_type.shape.dim
    }
    for value in (*graph.input, *graph.output, *graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param and size.dim_param in letters:
                size.dim_param = SAMPLES
    return proto


FORMATS: dict[str, Callable[[Personal, Tree, Tensor, Mapping[str, Any]], Exported]] = {
    "safetensors": safetensors,
    "pt2": pt2,
    "onnx": onnx,
}


def check_format(name: str) -> None:
    """Refuse a format that nothing is written in.

    Args:
        name: As it was typed.

    Raises:
        FedkinError: There is none of that name; names the nearest.
    """
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)


def _program(personal: Personal, x: Tensor) -> torch.export.ExportedProgram:
    sizes = {"x": {0: torch.export.Dim(SAMPLES, min=1)}}
    example = x[:2] if len(x) > 1 else torch.cat([x, x])
    try:
        with _quiet(), torch.no_grad():
            return torch.export.export(personal, (example,), dynamic_shapes=sizes, strict=False)
    except Exception as error:  # whatever torch finds in the user's own module
        raise FedkinError(
            f"this model cannot become a program of its own ({first_line(error)}): export it "
            "with --format safetensors"
        ) from None


def _plain_name(name: str) -> str:
    return name.removeprefix(BUFFER)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says about itself while it exports."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
