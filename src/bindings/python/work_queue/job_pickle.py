"""Values that travel between a program and its job workers: what pickle makes of them, and large buffers beside."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from typing import Any, List, Tuple

cloudpickle: Any
try:
    cloudpickle = importlib.import_module("cloudpickle")
except ImportError:
    cloudpickle = None


def dumps(value: Any) -> Tuple[bytes, List[Any]]:
    """(pickled, buffers). What pickle cannot do, or would look for in __main__, goes by value (cloudpickle)."""
    buffers: List[pickle.PickleBuffer] = []
    try:
        if "torch" in sys.modules:
            file = io.BytesIO()
            _TensorPickler(file, protocol=5, buffer_callback=buffers.append).dump(value)
            pickled = file.getvalue()
        else:
            pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        if cloudpickle is None or b"__main__" not in pickled:
            return pickled, [buffer.raw() for buffer in buffers]
    except Exception:
        if cloudpickle is None:
            raise
    buffers = []
    pickled = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickled, [buffer.raw() for buffer in buffers]


def loads(pickled: bytes, buffers: List[Any]) -> Any:
    """The value again; its arrays are views of the buffers."""
    return pickle.loads(pickled, buffers=buffers)


class _TensorPickler(pickle.Pickler):
    """Tensors of torch travel as arrays of numpy do; torch's own way copies them."""

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules["torch"]
        if type(obj) is not torch.Tensor or obj.device.type != "cpu" or obj.layout is not torch.strided:
            return NotImplemented
        if obj.is_quantized or obj.is_conj() or obj.is_neg():
            return NotImplemented
        plain = obj.detach().contiguous()
        halves = plain.dtype is torch.bfloat16  # which numpy lacks
        array = (plain.view(torch.int16) if halves else plain).numpy()
        return _tensor, (array, halves, obj.requires_grad)


def _tensor(array: Any, halves: bool, requires_grad: bool) -> Any:
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arrays that others see, too, and that must not be changed
        tensor = torch.from_numpy(array)
    if halves:
        tensor = tensor.view(torch.bfloat16)
    return tensor.requires_grad_() if requires_grad else tensor
