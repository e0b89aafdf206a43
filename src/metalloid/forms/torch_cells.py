"""The cells of LSTM and GRU, which PyTorch asks a device for in one piece and the CPU has only in parts."""

from __future__ import annotations

from typing import Any

from metalloid.forms.torch_device import pytorch, to_cpu, to_device


def _down(*tensors: Any) -> list[Any]:
    return [None if t is None else to_cpu(t) for t in tensors]


def _up(*tensors: Any) -> tuple[Any, ...]:
    return tuple(None if t is None else to_device(t.contiguous()) for t in tensors)


def _sum(*tensors: Any) -> Any:
    given = [t for t in tensors if t is not None]
    total = given[0]
    for t in given[1:]:
        total = total + t
    return total


def _lstm(inputs: Any, hidden: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """(h, c, what the backward pass needs)."""
    torch = pytorch()
    inputs, hidden, cx, input_bias, hidden_bias = _down(inputs, hidden, cx, input_bias, hidden_bias)
    i, f, g, o = _sum(inputs, hidden, input_bias, hidden_bias).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * cx + i * g
    return _up(o * c.tanh(), c, torch.cat((i, f, g, o), 1))


def _lstm_backward(grad_h: Any, grad_c: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool) -> Any:
    """(gates, c, bias)."""
    torch = pytorch()
    grad_h, grad_c, cx, cy, workspace = _down(grad_h, grad_c, cx, cy, workspace)
    i, f, g, o = workspace.chunk(4, 1)
    t = cy.tanh()
    grad_h = torch.zeros_like(cy) if grad_h is None else grad_h
    c = grad_h * o * (1 - t * t)
    c = c if grad_c is None else c + grad_c
    parts = (c * g * i * (1 - i), c * cx * f * (1 - f), c * i * (1 - g * g), grad_h * t * o * (1 - o))
    gates = torch.cat(parts, 1)
    return _up(gates, c * f, gates.sum(0) if has_bias else None)


def _gru(inputs: Any, hidden: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """(h, what the backward pass needs)."""
    torch = pytorch()
    inputs, hidden, hx, input_bias, hidden_bias = _down(inputs, hidden, hx, input_bias, hidden_bias)
    ir, ii, new = _sum(inputs, input_bias).chunk(3, 1)
    hr, hi, hn = _sum(hidden, hidden_bias).chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (ii + hi).sigmoid()
    n = (new + r * hn).tanh()
    return _up(n + z * (hx - n), torch.cat((r, z, n, hn, hx), 1))


def _gru_backward(grad: Any, workspace: Any, has_bias: bool) -> Any:
    """(input gates, hidden gates, h, input bias, hidden bias)."""
    torch = pytorch()
    grad, workspace = _down(grad, workspace)
    r, z, n, hn, hx = workspace.chunk(5, 1)
    gn = grad * (1 - z) * (1 - n * n)
    gz = grad * (hx - n) * z * (1 - z)
    gr = gn * hn * r * (1 - r)
    inputs, hidden = torch.cat((gr, gz, gn), 1), torch.cat((gr, gz, gn * r), 1)
    biases = (inputs.sum(0), hidden.sum(0)) if has_bias else (None, None)
    return _up(inputs, hidden, grad * z, *biases)


CELLS = {
    "_thnn_fused_lstm_cell": _lstm,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
    "_thnn_fused_gru_cell": _gru,
    "_thnn_fused_gru_cell_backward": _gru_backward,
}
