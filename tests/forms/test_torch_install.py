"""`metalloid.torch.install()`: code for a Mac finds its device, and what it computes there is what the CPU computes."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import metalloid as mt  # noqa: E402
import metalloid.torch  # noqa: E402

if torch.backends.mps.is_built():
    pytest.skip("PyTorch has Metal itself", allow_module_level=True)

from torch import nn  # noqa: E402


@pytest.fixture(autouse=True)
def served():
    with metalloid.torch.installed():
        yield


def test_it_is_there_while_it_is_installed_and_gone_afterwards():
    assert (
        torch.backends.mps.is_available() and torch.backends.mps.is_built() and torch.mps.device_count() == 1
    )
    assert torch.accelerator.current_accelerator().type == "mps"
    metalloid.torch.uninstall()
    try:
        assert not torch.backends.mps.is_available() and not metalloid.torch.is_installed()
        assert torch.ones(2).device.type == "cpu" and torch.tensor([1]).device.type == "cpu"
    finally:
        metalloid.torch.install()


MAKERS = {
    "factory": lambda: torch.zeros(2, 3, device="mps"),
    "device object": lambda: torch.zeros(2, 3, device=torch.device("mps")),
    "index": lambda: torch.zeros(2, 3, device="mps:0"),
    "to": lambda: torch.zeros(2, 3).to("mps"),
    "to device": lambda: torch.zeros(2, 3).to(torch.device("mps")),
    "to keyword": lambda: torch.zeros(2, 3).to(device="mps", dtype=torch.float32),
    "tensor": lambda: torch.tensor([[0.0] * 3] * 2, device="mps"),
    "as_tensor": lambda: torch.as_tensor([[0.0] * 3] * 2, device="mps"),
    "from_numpy": lambda: torch.from_numpy(np.zeros((2, 3), np.float32)).to("mps"),
    "like": lambda: torch.zeros_like(torch.ones(2, 3), device="mps"),
    "new": lambda: torch.ones(1, device="mps").new_zeros(2, 3),
    "its device": lambda: torch.zeros(2, 3, device=torch.ones(1, device="mps").device),
    "arange": lambda: torch.arange(6.0, device="mps").reshape(2, 3) * 0,
    "random": lambda: torch.rand(2, 3, device="mps", generator=torch.Generator("mps").manual_seed(1)) * 0,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_tensors_are_on_mps_however_they_are_made(make):
    x = make()
    assert x.device == torch.device("mps:0") and x.device.type == "mps" and x.is_mps and not x.is_cpu
    assert x.shape == (2, 3) and "device='mps:0'" in repr(x)
    assert x.cpu().device.type == "cpu" and x.cpu().tolist() == [[0.0] * 3] * 2
    assert x.to("mps") is x and (x + 1).is_mps and x.t().is_mps and x[0].is_mps


def test_default_devices():
    with torch.device("mps"):
        assert torch.ones(2).is_mps and torch.tensor([1.0]).is_mps and nn.Linear(2, 2).weight.is_mps
    torch.set_default_device("mps")
    try:
        assert torch.get_default_device().type == "mps" and torch.zeros(2).is_mps
    finally:
        torch.set_default_device(None)


def test_memory_is_shared_by_views_and_not_by_copies():
    x = torch.arange(12.0, device="mps").view(3, 4)
    x[1].fill_(-1)
    x.t()[0, 2] = 7
    x.view(-1)[11:] += 100
    assert x.cpu().tolist() == [[0, 1, 2, 3], [-1] * 4, [7, 9, 10, 111]]
    y = x.clone()
    y.zero_()
    assert x.sum().item() == 139 and y.sum().item() == 0
    source = torch.ones(3)
    moved = source.to("mps")
    moved += 1
    assert source.tolist() == [1, 1, 1] and moved.tolist() == [2, 2, 2]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.conv = nn.Conv1d(8, 8, 3, padding=1, groups=2)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.attention = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.norm = nn.BatchNorm1d(8)
        self.up = nn.ConvTranspose1d(8, 4, 2, stride=2)
        self.head = nn.Linear(4, 3)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        x = self.gru(self.lstm(x)[0])[0]
        x = self.attention(x)
        return self.head(self.up(self.norm(x.transpose(1, 2))).mean(-1))


def train(device, steps=3):
    torch.manual_seed(0)
    net = Net().to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    tokens, targets = torch.randint(0, 11, (4, 6)).to(device), torch.tensor([0, 1, 2, 1]).to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(tokens), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert (
        {p.device.type for p in net.parameters()}
        == {device}
        == {p.grad.device.type for p in net.parameters()}
    )
    return losses, {name: p.grad.cpu() for name, p in net.named_parameters()}, net


def test_training_is_the_cpus_training():
    losses, gradients, _ = train("mps")
    expected, right, _ = train("cpu")
    assert losses == pytest.approx(expected, rel=1e-5)
    # All together are 1 long; operators round in other places than the CPU's.
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, right[name], rtol=1e-3, atol=5e-6)


def test_models_are_saved_loaded_and_copied(tmp_path):
    _, _, net = train("mps", 1)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    for where in ("mps", "cpu", None):
        state = torch.load(tmp_path / "net.pt", map_location=where)
        assert {t.device.type for t in state.values()} == {where or "mps"}
        for name, value in net.state_dict().items():
            assert torch.equal(value.cpu(), state[name].cpu())
    twin = copy.deepcopy(net)
    assert twin.head.weight.is_mps and torch.equal(twin.head.weight, net.head.weight)
    assert net.to("cpu").head.weight.device.type == "cpu"


SHADER = """
#include <metal_stdlib>
using namespace metal;
kernel void scale(device float* out, device const float* x, constant float& by, uint i [[thread_position_in_grid]]) {
    out[i] = by * x[i];
}
"""


class Scale(torch.autograd.Function):
    library = None

    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        assert x.is_mps
        return Scale.run(x, by)

    @staticmethod
    def backward(ctx, gradient):
        assert gradient.device.type == "mps"
        return Scale.run(gradient, ctx.by), None

    @staticmethod
    def run(x, by):
        out = torch.empty_like(x)
        Scale.library.scale(out, x.contiguous(), by)
        return out


def test_kernels_run_on_its_tensors_forward_and_backward():
    Scale.library = torch.mps.compile_shader(SHADER)
    x = torch.arange(5.0, device="mps", requires_grad=True)
    y = Scale.apply(x, 3.0)
    (y * y).sum().backward()
    assert y.tolist() == [0, 3, 6, 9, 12] and x.grad.tolist() == [0, 18, 36, 54, 72] and x.grad.is_mps


def test_strided_tensors_are_recognised_and_said_so():
    library = torch.mps.compile_shader(SHADER)
    x = torch.arange(6.0, device="mps").view(2, 3)
    out = torch.full((6,), -1.0, device="mps")
    with pytest.warns(
        mt.LaunchWarning, match=r"'x' does not lie in rows \(shape \(3, 2\), strides \(1, 3\)\)"
    ):
        library.scale(out, x.t(), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.scale(out, x.t().contiguous(), 1.0)
    assert out.tolist() == [0, 3, 1, 4, 2, 5]
    strided = torch.mps.compile_shader("""
kernel void gather(device float* out, device const float* x, constant long2& strides, constant long2& shape,
                   uint i [[thread_position_in_grid]]) {
    out[i] = x[i / shape.y * strides.x + i % shape.y * strides.y];
}
""")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strided.gather(out, x.t(), list(x.t().stride()), list(x.t().shape))
    assert out.tolist() == [0, 3, 1, 4, 2, 5]


def test_errors_are_those_of_pytorch():
    library = torch.mps.compile_shader(SHADER)
    with pytest.raises(SyntaxError):
        torch.mps.compile_shader("kernel void broken(")
    with pytest.raises(RuntimeError, match="no kernel 'scal'"):
        library.scal  # noqa: B018
    with pytest.raises(RuntimeError, match="is missing"):
        library.scale(torch.zeros(3, device="mps"))
    with pytest.raises(ValueError, match="the limit is 1024"):
        library.scale(torch.zeros(3, device="mps"), torch.zeros(3, device="mps"), 1.0, group_size=2048)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(3, device="mps") + torch.ones(3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        nn.Linear(3, 3)(torch.ones(1, 3, device="mps"))
    with pytest.raises(TypeError, match="doesn't support float64"):
        torch.zeros(3, dtype=torch.float64).to("mps")
    with pytest.raises(TypeError, match="to numpy"):
        torch.ones(3, device="mps").numpy()
    with pytest.raises(RuntimeError, match="load_metallib is not supported yet"):
        torch.mps.load_metallib(b"MTLB")
    assert (torch.ones(3, device="mps") * torch.tensor(2.0)).tolist() == [2, 2, 2]  # a number may be anywhere


def test_the_functions_of_torch_mps():
    torch.mps.synchronize()
    torch.mps.empty_cache()
    torch.mps.set_per_process_memory_fraction(0.5)
    with pytest.raises(ValueError, match="Allowed range"):
        torch.mps.set_per_process_memory_fraction(3.0)
    assert torch.mps.recommended_max_memory() > 1 << 28 and torch.mps.current_allocated_memory() >= 0
    torch.mps.manual_seed(5)
    state = torch.mps.get_rng_state()
    first = torch.randn(4, device="mps")
    torch.mps.set_rng_state(state)
    assert torch.equal(first, torch.randn(4, device="mps"))
    start, end = torch.mps.event.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    torch.ones(1000, device="mps").sum()
    end.record()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) > 0
    with torch.mps.profiler.profile():
        pass
    with pytest.raises(RuntimeError, match="enable_timing"):
        torch.mps.Event().elapsed_time(end)


def test_what_is_left_out_is_said_once(recwarn):
    from metalloid.forms import torch_names

    torch_names._told.clear()
    twice = torch.compile(lambda x: 2 * x)
    torch.compile(lambda x: 2 * x)
    with torch.autocast("mps", torch.float16):
        assert twice(torch.ones(2, device="mps")).tolist() == [2, 2]
    said = [str(w.message) for w in recwarn if "metalloid" in str(w.message)]
    assert len(said) == 2 and "torch.compile leaves functions" in said[0] and "casts nothing here" in said[1]


def test_a_script_for_a_mac_ends_well():
    """Tensors of the device live on to the end of the interpreter."""
    code = """
import metalloid.torch
metalloid.torch.install()
import torch
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
loss = model(torch.randn(3, 4, device=device)).pow(2).mean()
loss.backward()
keep = [torch.ones(1 << 16, device=device) for _ in range(10)]
print(device.type, model.weight.grad.device)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("mps mps:0\n", "")


def test_a_backward_pass_may_come_before_the_device():
    """The autograd engine counts its devices once, at the first backward pass of the process."""
    code = """
import threading
import torch
from torch.utils.checkpoint import checkpoint
x = torch.ones(3, requires_grad=True)
x.square().sum().backward()
import metalloid.torch
metalloid.torch.install()
y = torch.ones(3, device="mps", requires_grad=True)
(3 * y * y).sum().backward()
print(y.grad.tolist(), torch.autograd.grad((y * y).sum().cpu(), y)[0].tolist())
def apart():
    y.grad = None
    checkpoint(lambda y: y.sin().exp().sum(), y, use_reentrant=True).backward()
    want = torch.func.grad(lambda x: x.sin().exp().sum())(torch.ones(3))
    print(torch.equal(y.grad.cpu(), want))
thread = threading.Thread(target=apart)
thread.start()
thread.join()
loss = (y * y).sum()
metalloid.torch.uninstall()
y.grad = None
loss.backward()
print(y.grad.cpu().tolist(), x.grad.tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "[6.0, 6.0, 6.0] [2.0, 2.0, 2.0]\nTrue\n[2.0, 2.0, 2.0] [2.0, 2.0, 2.0]\n"
