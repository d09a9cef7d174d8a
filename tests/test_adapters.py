"""erfinv in the graphs of PyTorch, JAX, MLX and HIPS autograd: bits, derivatives, and refusals."""

import contextlib
import doctest
import importlib
import itertools
import shutil
import sys

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx

from lucid_erfinv import ErfinvBackward, autocast, erfinv, ops

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# PyTorch says so of itself when it is first asked for a tangent.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


class Adapter:
    """A framework seen through NumPy arrays; its functions take and return its own arrays."""

    def __init__(self, name, needs):
        self.name = name
        self.framework = pytest.importorskip(needs, reason=f"{needs} is not installed")
        self.module = importlib.import_module(f"lucid_erfinv.{name}")
        self.erfinv = self.module.erfinv

    def gradient(self, x, g):
        return self.get(self.vjp(self.erfinv, self.put(x), self.put(g)))

    def tangent(self, x, t):
        return self.get(self.jvp(self.erfinv, self.put(x), self.put(t)))

    def derivative(self, function, mode):
        """The elementwise derivative, by reverse or forward mode."""
        product = self.vjp if mode == "reverse" else self.jvp
        return lambda x: product(function, x, self.ones(x))

    def ones(self, x):
        return self.put(np.ones(x.shape, self.get(x).dtype))


class Torch(Adapter):
    def __init__(self):
        super().__init__("torch", "torch")

    def put(self, x):
        torch = self.framework
        x = np.array(x)
        if x.dtype == BFLOAT16:
            return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(x)

    def get(self, x):
        return self.module.as_numpy(x)

    def ones(self, x):
        return self.framework.ones_like(x)

    def vjp(self, function, x, g):
        return self.framework.func.vjp(function, x)[1](g)[0]

    def jvp(self, function, x, t):
        return self.framework.func.jvp(function, (x,), (t,))[1]


class Jax(Adapter):
    def __init__(self):
        super().__init__("jax", "jax")
        self.framework.config.update("jax_enable_x64", True)

    def put(self, x):
        return self.framework.numpy.asarray(x)

    def get(self, x):
        return np.asarray(x)

    def ones(self, x):
        return self.framework.numpy.ones_like(x)

    def vjp(self, function, x, g):
        return self.framework.vjp(function, x)[1](g)[0]

    def jvp(self, function, x, t):
        return self.framework.jvp(function, (x,), (t,))[1]


class Mlx(Adapter):
    def __init__(self):
        super().__init__("mlx", "mlx.core")
        self.framework = sys.modules["mlx.core"]
        self.framework.set_default_device(self.framework.cpu)

    def put(self, x):
        x = np.asarray(x)
        return self.framework.array(x, dtype=getattr(self.framework, x.dtype.name, None))

    def get(self, x):
        return self.module.as_numpy(x)

    def ones(self, x):
        return self.framework.ones_like(x)

    def vjp(self, function, x, g):
        return self.framework.vjp(function, [x], [g])[1][0]

    def jvp(self, function, x, t):
        return self.framework.jvp(function, [x], [t])[1][0]


class Autograd(Adapter):
    def __init__(self):
        super().__init__("autograd_numpy", "autograd")
        self.core = importlib.import_module("autograd.differential_operators")

    def put(self, x):
        return np.asarray(x)

    get = put

    def ones(self, x):
        return np.ones(x.shape, x.dtype)

    def vjp(self, function, x, g):
        return self.core.make_vjp(function)(x)[0](g)

    def jvp(self, function, x, t):
        return self.core.make_jvp(function)(x)(t)[1]


ADAPTERS = {"torch": Torch, "jax": Jax, "mlx": Mlx, "autograd_numpy": Autograd}


@pytest.fixture(params=ADAPTERS, scope="module")
def adapter(request):
    return ADAPTERS[request.param]()


@pytest.fixture(scope="module")
def torch_adapter():
    return Torch()


@pytest.fixture(scope="module")
def torch(torch_adapter):
    return torch_adapter.framework


@pytest.fixture(scope="module")
def jax_adapter():
    return Jax()


@pytest.fixture(scope="module")
def jax(jax_adapter):
    return jax_adapter.framework


@pytest.fixture(scope="module")
def mlx_adapter():
    return Mlx()


@pytest.fixture(scope="module")
def mx(mlx_adapter):
    return mlx_adapter.framework


@pytest.fixture(autouse=True)
def ignore_flags():
    """autograd's NumPy reports them; the other frameworks know none."""
    with np.errstate(all="ignore"):
        yield


# Values -------------------------------------------------------------------------------------------


def sample(fmt, rng, n):
    """Numbers of every size in [-1, 1], both signs."""
    bits = rng.integers(0, fmt.one, n, dtype=fmt.unsigned)
    near_one = fmt.one - rng.integers(1, min(fmt.one, 1 << 10), n, dtype=fmt.unsigned)
    x = fmt.values(np.concatenate([bits, near_one.astype(fmt.unsigned)]))
    return np.concatenate([x, -x, np.array([0, -0.0, 1, -1, 2, -np.inf, np.nan], fmt.dtype)])


def test_values_are_the_ufuncs_bits(adapter, fmt, rng, assert_same_bits):
    special = fmt.values([1, 2, 3, fmt.tiny, fmt.inf + 7, fmt.sign_bit | fmt.inf | 5])
    x = np.concatenate([sample(fmt, rng, 300), special])
    quiet = ~np.isnan(x) | (fmt.bits(x) & fmt.quiet_bit != 0)  # a framework may quiet others
    assert_same_bits(adapter.get(adapter.erfinv(adapter.put(x)))[quiet], erfinv(x)[quiet], x[quiet])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 1, 2), (2, 0)])
def test_shapes(adapter, shape, fmt, assert_same_bits):
    x = np.full(shape, 0.25, fmt.dtype)
    y = adapter.erfinv(adapter.put(x))
    assert_same_bits(np.asarray(adapter.get(y)), np.asarray(erfinv(x)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "uint8"])
def test_integers_become_float64(adapter, dtype):
    y = adapter.get(adapter.erfinv(adapter.put(np.array([0, 1], dtype))))
    assert y.dtype == np.float64
    assert y.tolist() == [0, np.inf]


def test_complex_is_refused_by_name(adapter):
    for function in (adapter.erfinv, ops.erfinv):
        with pytest.raises(TypeError, match="`x` must be real floating or integer, got complex64"):
            function(adapter.put(np.zeros(2, "F")))


def test_docstring_examples_run(adapter):
    examples = doctest.DocTestFinder(recurse=False).find(adapter.erfinv, "erfinv", globs={})[0]
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize(verbose=False) == (0, len(examples.examples))


# First derivatives --------------------------------------------------------------------------------


def ulps(fmt, got, exact):
    """abs(got - exact) in ulps of the exact value; 0 if that overflows and got is infinite."""
    size = abs(exact)
    digits, exponent = size.mid().man_exp()
    bits = fmt.rounded(int(digits), int(exponent)) if digits else 0
    if bits >= fmt.inf:
        return 0.0 if np.isinf(got) and (got > 0) == (exact > 0) else float("inf")
    _, unit = fmt.exact(bits)
    return float(abs(arb(float(got)) - exact) * arb(2) ** -unit)


def slope(x):
    """The exact derivative at x."""
    return arb.pi().sqrt() / 2 * (arb(float(x)).erfinv() ** 2).exp()


def worst(fmt, got, exact, *arguments):
    ctx.prec = 256
    assert np.asarray(got).dtype == fmt.dtype
    return max(
        (ulps(fmt, value, exact(*values)), *map(float, values))
        for value, *values in zip(got, *arguments, strict=True)
    )


REGIONS = {
    "centre": lambda rng, n: rng.uniform(-0.5, 0.5, n),
    "shoulder": lambda rng, n: rng.uniform(0.5, 0.9375, n),
    "near 1": lambda rng, n: 1 - 2.0 ** -rng.uniform(4, 53, n),
    "small": lambda rng, n: 2.0 ** -rng.uniform(1, 60, n),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("mode", ["gradient", "tangent"])
def test_first_derivative_is_within_an_ulp(adapter, fmt, rng, region, mode):
    """Of the exact one at x, though only y was saved."""
    x = REGIONS[region](rng, 60).astype(fmt.dtype)
    x = x[abs(x) < 1]
    g = (rng.normal(size=x.size) * 2.0 ** rng.integers(-8, 3, x.size)).astype(fmt.dtype)
    got = getattr(adapter, mode)(x, g)
    error = worst(fmt, got, lambda g, x: arb(float(g)) * slope(x), g, x)
    assert error[0] < 1, error


@pytest.mark.parametrize("x", ["0x1.fffffffffffffp-1", "0x1.fffffffffffd1p-1"])
def test_gradient_near_the_end(adapter, formats, x):
    """Up to 42 ulp off, if y is taken at its word."""
    x = np.array([float.fromhex(x)])
    fmt = formats["float64"]
    assert worst(fmt, adapter.gradient(x, np.ones(1)), slope, x)[0] < 1


@pytest.mark.parametrize("mode", ["gradient", "tangent"])
def test_table_of_values(adapter, fmt, mode, assert_same_bits):
    x = np.array([1, -1, 1, -1, 1, -1, 1, 2, 2, np.nan, 0.5, 0.5, -0.5], fmt.dtype)
    g = np.array([1, 1, -2, -2, 0, -0.0, np.nan, 1, 0, 0, np.nan, 0, -0.0], fmt.dtype)
    expected = np.array([np.inf, np.inf, -np.inf, -np.inf, 0, -0.0] + 5 * [np.nan] + [0, -0.0])
    got = getattr(adapter, mode)(x, g)
    np.testing.assert_array_equal(got.astype("d"), expected)
    number = ~np.isnan(expected)
    assert_same_bits(got[number], expected.astype(fmt.dtype)[number])


def test_products_neither_overflow_nor_underflow_early(adapter, formats):
    g, x = np.array([5e-324, 1e-300]), np.array([1 - 2.0**-53, 0.999])
    got = adapter.gradient(x, g)
    error = worst(formats["float64"], got, lambda g, x: arb(float(g)) * slope(x), g, x)
    assert error[0] < 1, error
    assert np.isfinite(adapter.gradient(np.array([0.99951171875], "e"), np.array([160], "e")))


# Higher derivatives -------------------------------------------------------------------------------


MODES = ["reverse", "forward"]


@pytest.mark.parametrize("modes", list(itertools.product(MODES, repeat=2)), ids="-".join)
@pytest.mark.parametrize("region", REGIONS)
def test_second_derivative_is_within_8_ulp(adapter, formats, rng, region, modes):
    """Of 2 y (dy/dx)^2, in float64."""
    x = REGIONS[region](rng, 60)
    x = x[abs(x) < 1]
    second = adapter.erfinv
    for mode in modes:
        second = adapter.derivative(second, mode)
    error = worst(
        formats["float64"],
        adapter.get(second(adapter.put(x))),
        lambda x: 2 * arb(float(x)).erfinv() * slope(x) ** 2,
        x,
    )
    assert error[0] < 8, error


def test_third_derivative(adapter):
    x = np.array([0.1, 0.5, -0.9])
    third = adapter.erfinv
    for _ in range(3):
        third = adapter.derivative(third, "reverse")
    exact = [
        slope(v) ** 3 * (2 + 8 * arb(float(v)).erfinv() ** 2) for v in x
    ]  # d/dx 2 y y'^2 = 2 y'^3 + 4 y y' y''
    np.testing.assert_allclose(adapter.get(third(adapter.put(x))), [float(v) for v in exact], 1e-13)


def test_second_derivative_where_the_gradient_is_zero(adapter):
    """At a pole whose cotangent is 0, as behind a mask, everything stays 0."""
    x, w = np.array([1.0, -1.0, 0.5]), adapter.put(np.array([0.0, 0.0, 1.0]))
    gradient = adapter.derivative(lambda z: w * adapter.erfinv(z), "reverse")
    second = adapter.derivative(gradient, "reverse")
    assert adapter.get(gradient(adapter.put(x)))[:2].tolist() == [0, 0]
    assert adapter.get(second(adapter.put(x)))[:2].tolist() == [0, 0]
    assert adapter.get(second(adapter.put(x)))[2] == pytest.approx(1.1807463499934842)


def test_zero_gradient_has_a_derivative(adapter):
    """y**2 at x = 0: its gradient is 0 there, its second derivative 2 (dy/dx)^2 = pi/2."""
    square = adapter.derivative(lambda z: adapter.erfinv(z) * adapter.erfinv(z), "reverse")
    second = adapter.derivative(square, "reverse")
    assert adapter.get(second(adapter.put(np.zeros(1))))[0] == pytest.approx(np.pi / 2, rel=1e-15)


# Graph mode of the node ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_graph_formula_stays_in_the_graph(adapter, dtype):
    """Its values and its own derivative by out, which is 2 out times it."""
    y = np.array([0.1, -0.5, 1.25], dtype)

    def formula(out):
        return ErfinvBackward.grad_formula_impl(adapter.ones(out), None, out)

    def plain(out):  # the same for the adapters' arrays of a fixed shape
        g = adapter.put(np.ones(3, dtype))
        return ErfinvBackward.grad_formula_impl(g, None, out)

    got = formula(adapter.put(y))
    assert type(got) is type(adapter.put(y))
    value = np.sqrt(np.pi) / 2 * np.exp(y.astype("d") ** 2)
    # MLX's exp of float64 is one of float32.
    rtol = 2e-6 if dtype == "f" or adapter.name == "mlx" else 1e-14
    np.testing.assert_allclose(adapter.get(got), value, rtol)
    by_out = adapter.derivative(plain, "reverse")
    np.testing.assert_allclose(adapter.get(by_out(adapter.put(y))), 2 * y * value, rtol)
    twice = adapter.derivative(by_out, "reverse")
    expected = (2 + 4 * y.astype("d") ** 2) * value
    np.testing.assert_allclose(adapter.get(twice(adapter.put(y))), expected, rtol)


def test_graph_formula_at_the_poles(adapter):
    out = adapter.put(np.array([np.inf, -np.inf, np.inf, 0.0]))
    g = adapter.put(np.array([0.0, 0.0, -2.0, 0.0]))

    def formula(out):
        return ErfinvBackward.grad_formula_impl(g, None, out)

    assert adapter.get(formula(out)).tolist() == [0, 0, -np.inf, 0]
    by_out = adapter.derivative(formula, "reverse")
    assert adapter.get(by_out(out))[[0, 1, 3]].tolist() == [0, 0, 0]
    assert adapter.get(adapter.derivative(by_out, "reverse")(out))[[0, 1, 3]].tolist() == [0, 0, 0]


# ops.erfinv ---------------------------------------------------------------------------------------


def test_op_stays_in_the_framework(adapter, fmt, rng, assert_same_bits):
    x = sample(fmt, rng, 50)
    y = ops.erfinv(adapter.put(x))
    assert type(y) is type(adapter.put(x))
    assert_same_bits(adapter.get(y), erfinv(x))
    got = adapter.get(adapter.vjp(ops.erfinv, adapter.put(x), adapter.put(np.ones_like(x))))
    assert_same_bits(got, adapter.gradient(x, np.ones_like(x)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_op_obeys_autocast(adapter, dtype, assert_same_bits):
    x = adapter.put(np.array([0.1, -0.7, 0.99]))
    with autocast(dtype):
        y = ops.erfinv(x)
        gradient = adapter.vjp(lambda z: ops.erfinv(z), x, adapter.ones(y))
    assert_same_bits(adapter.get(y), erfinv(adapter.get(x).astype(dtype)))
    assert adapter.get(gradient).dtype == np.float64


@pytest.mark.parametrize("name", ["torch", "jax", "mlx"])  # autograd's arrays are NumPy's
def test_node_leaves_frameworks_to_the_op(name):
    adapter = ADAPTERS[name]()
    x = adapter.put(np.zeros(2))
    with pytest.raises(TypeError, match=rf"`x` .* which lucid_erfinv\.{name} takes"):
        ErfinvBackward.forward(x)
    _, node = ErfinvBackward.forward(np.zeros(2))
    with pytest.raises(TypeError, match=rf"`g` .* which lucid_erfinv\.{name} takes"):
        node.apply(x)


def test_autocast_takes_the_frameworks_dtypes(adapter):
    dtypes = {"jax": "jax.numpy", "autograd_numpy": "autograd.numpy"}
    module = importlib.import_module(dtypes.get(adapter.name, adapter.framework.__name__))
    assert autocast(module.float16).dtype == "float16"
    with pytest.raises(TypeError, match="got float64"):
        autocast(module.float64)


# PyTorch ------------------------------------------------------------------------------------------


def test_torch_layouts(torch, torch_adapter, assert_same_bits):
    x = np.linspace(-0.9, 0.9, 24).reshape(2, 3, 4)
    for dtype in ("d", "f", "e", BFLOAT16):
        whole = torch_adapter.put(x.astype(dtype))
        for part in (
            whole.mT,
            whole[:, ::2, 1:],
            whole[..., :1].expand(2, 3, 5),
            whole.permute(2, 0, 1),
            torch._neg_view(whole),
            whole.contiguous(memory_format=torch.contiguous_format)[0].t(),
        ):
            y = torch_adapter.erfinv(part)
            assert_same_bits(torch_adapter.get(y), erfinv(torch_adapter.get(part)))


def test_torch_leaves_its_argument_alone(torch, torch_adapter):
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    y = torch_adapter.erfinv(x)
    y.sum().backward()
    assert x.tolist() == [0.5, 0.25]
    assert y.requires_grad
    assert not torch_adapter.erfinv(x.detach()).requires_grad
    with torch.no_grad():
        assert not torch_adapter.erfinv(x).requires_grad


def test_torch_notices_a_changed_output(torch, torch_adapter):
    x = torch.tensor([0.5], requires_grad=True)
    y = torch_adapter.erfinv(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_torch_gradcheck(torch, torch_adapter):
    x = torch.tensor([0.1, 0.5, -0.75], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        torch_adapter.erfinv,
        (x,),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )
    assert torch.autograd.gradgradcheck(
        torch_adapter.erfinv,
        (x,),
        check_fwd_over_rev=True,
        check_rev_over_rev=True,
        check_batched_grad=True,
    )


def test_torch_opcheck(torch):
    x = torch.tensor([[0.1, 0.5, -0.75]], dtype=torch.float64)
    g = torch.ones_like(x)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for requires_grad in (False, True):
            a, b = (v.detach().to(dtype).requires_grad_(requires_grad) for v in (x, g))
            torch.library.opcheck(torch.ops.lucid_erfinv.erfinv.default, (a,))
            turned = a.detach().mT.requires_grad_(requires_grad)
            torch.library.opcheck(torch.ops.lucid_erfinv.erfinv.default, (turned,))
            torch.library.opcheck(torch.ops.lucid_erfinv.erfinv_backward.default, (b, a))


def test_torch_func(torch, torch_adapter):
    f, func = torch_adapter.erfinv, torch.func
    x = torch.tensor([[0.1, 0.5], [-0.75, 0.0]], dtype=torch.float64)
    first = func.vmap(func.vmap(func.grad(f)))(x)
    assert torch.equal(first, func.vjp(f, x)[1](torch.ones_like(x))[0])
    assert torch.equal(func.vmap(f, in_dims=1, out_dims=1)(x), f(x))
    second = func.vmap(func.vmap(func.grad(func.grad(f))))(x)
    torch.testing.assert_close(second, 2 * f(x) * first**2, rtol=1e-15, atol=0)
    row = x[0]
    for outer, inner in itertools.product((func.jacrev, func.jacfwd), repeat=2):
        hessian = outer(inner(lambda z: f(z).sum()))(row)
        torch.testing.assert_close(hessian, second[0].diag(), rtol=1e-15, atol=0)
    # A batch of cotangents for one x.
    _, pull = func.vjp(f, row)
    torch.testing.assert_close(func.vmap(pull)(torch.eye(2).double())[0], first[0].diag())


def test_torch_forward_mode(torch, torch_adapter):
    forward_ad = torch.autograd.forward_ad
    x = torch.tensor([0.5], dtype=torch.float64)
    with forward_ad.dual_level():
        y = torch_adapter.erfinv(forward_ad.make_dual(x, torch.ones_like(x)))
        assert forward_ad.unpack_dual(y).tangent.item() == 1.1125848189719498


def test_torch_autocast_is_left_alone(torch, torch_adapter):
    x = torch.full((2,), 0.5)
    with autocast("float16"):
        assert not torch.is_autocast_enabled("cpu")
        assert torch_adapter.erfinv(x).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert torch_adapter.erfinv(x).dtype == torch.float32


@pytest.mark.parametrize("make", ["meta", "sparse"])
def test_torch_refuses_other_tensors(torch, torch_adapter, make):
    x = torch.zeros(2, device="meta") if make == "meta" else torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="`x` must be a dense tensor on the CPU, got "):
        torch_adapter.erfinv(x)


@pytest.mark.parametrize("x", [0.5, [0.5], np.zeros(2)])
def test_torch_takes_tensors_only(torch_adapter, x):
    with pytest.raises(TypeError, match=r"`x` must be a torch\.Tensor, got"):
        torch_adapter.erfinv(x)


@pytest.fixture
def compiled(torch):
    """torch.compile without the code generator; what it traces is the same."""
    torch._dynamo.reset()
    yield lambda function, **options: torch.compile(function, backend="aot_eager", **options)
    torch._dynamo.reset()


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_torch_compiled(torch, torch_adapter, compiled, name):
    f = compiled(lambda z: 2 * torch_adapter.erfinv(z / 2), fullgraph=True)
    x = torch.tensor([0.1, -1.5, 2.0], dtype=getattr(torch, name), requires_grad=True)
    eager = x.detach().clone().requires_grad_()
    expected = 2 * torch_adapter.erfinv(eager / 2)
    y = f(x)
    assert torch.equal(y, expected)
    g = torch.tensor([1, -2, 0], dtype=x.dtype)
    y.backward(g)
    expected.backward(g)
    assert torch.equal(x.grad, eager.grad)
    assert x.grad[2] == 0


def test_torch_compiled_integers(torch, torch_adapter, compiled):
    y = compiled(torch_adapter.erfinv, fullgraph=True)(torch.tensor([0, 1]))
    assert y.tolist() == [0, np.inf]


def test_torch_compiled_op_notices_autocast(torch, torch_adapter, compiled):
    f, x = compiled(ops.erfinv), torch.tensor([0.25])
    for dtype in (None, "float16", None, "bfloat16"):
        with autocast(dtype) if dtype else contextlib.nullcontext():
            y = f(x)
        expected = torch_adapter.erfinv(torch_adapter.module.cast(x, dtype or "float32"))
        assert y.dtype == expected.dtype
        assert torch.equal(y, expected)


@pytest.mark.parametrize("strict", [False, True])
def test_torch_export(torch, torch_adapter, strict):
    class Module(torch.nn.Module):
        def forward(self, x):
            return 2 * torch_adapter.erfinv(x)

    x = torch.tensor([0.25, 0.5])
    exported = torch.export.export(Module(), (x,), strict=strict)
    assert torch.equal(exported.module()(x), 2 * torch_adapter.erfinv(x))


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++ for torch.compile to call")
@pytest.mark.filterwarnings("ignore")
def test_torch_compiled_by_inductor(torch, torch_adapter):
    torch._dynamo.reset()
    f = torch.compile(lambda z: 2 * torch_adapter.erfinv(z / 2), fullgraph=True)
    x = torch.tensor([0.1, -1.5, 1.9], requires_grad=True)
    y = f(x)
    y.sum().backward()
    half = torch.tensor(x.tolist()) / 2
    assert torch.equal(y, 2 * torch_adapter.erfinv(half))
    assert torch.equal(x.grad, torch_adapter.vjp(torch_adapter.erfinv, half, torch.ones(3)))
    torch._dynamo.reset()


def test_torch_compiled_vmap(torch, torch_adapter, compiled):
    x = torch.tensor([[0.1, 0.5], [-0.75, 0.0]])
    f = compiled(lambda z: torch.func.vmap(torch_adapter.erfinv, in_dims=1)(z), fullgraph=True)
    assert torch.equal(f(x), torch_adapter.erfinv(x).mT)


def test_torch_compiled_changes_shape(torch, torch_adapter, compiled):
    f = compiled(torch_adapter.erfinv, dynamic=True, fullgraph=True)
    for n in (3, 5, 8):
        x = torch.linspace(-0.5, 0.5, n)
        assert torch.equal(f(x), torch_adapter.erfinv(x))


@pytest.mark.parametrize("fullgraph", [False, True])
def test_torch_compiled_forward_mode_raises(torch, torch_adapter, compiled, fullgraph):
    """A custom op would return zero tangents."""
    f, x = torch_adapter.erfinv, torch.tensor([0.5])
    ones = torch.ones_like(x)
    for function in (
        lambda z: torch.func.jvp(f, (z,), (ones,)),
        lambda z: torch.func.jacfwd(f)(z),
    ):
        with pytest.raises(Exception, match=r"no forward mode inside torch\.compile"):
            compiled(function, fullgraph=fullgraph)(x)


def test_torch_compiled_notices_dual_tensors_later(torch, torch_adapter, compiled):
    forward_ad = torch.autograd.forward_ad
    f, x = compiled(torch_adapter.erfinv), torch.tensor([0.5])
    f(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(Exception, match=r"no forward mode inside torch\.compile"):
            f(dual)
    assert torch.equal(f(x), torch_adapter.erfinv(x))


def test_torch_what_else_compiling_does_not_allow_raises(torch, torch_adapter, compiled):
    f, x = torch_adapter.erfinv, torch.tensor([0.5])
    with pytest.raises(Exception, match="functorch transforms"):
        compiled(lambda z: torch.func.grad(lambda v: f(v).sum())(z))(x)
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(compiled(f)(leaf).sum(), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


# JAX ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "jit"])
def test_jax_subnormals(jax, jax_adapter, compile_it, assert_same_bits):
    """JAX runs callbacks with flush-to-zero and denormals-are-zero on."""
    f = jax.jit(jax_adapter.erfinv) if compile_it else jax_adapter.erfinv
    for x in (np.array([1e-310, 5e-324, -3e-320, 2.3e-308]), np.array([1e-40, 1e-45], "f")):
        assert (erfinv(x) != 0).all()
        assert_same_bits(jax_adapter.get(f(jax_adapter.put(x))), erfinv(x))
        ones = np.full(x.size, 0.5, x.dtype)
        got = jax_adapter.gradient(ones, x)
        assert_same_bits(got, ErfinvBackward.forward(ones)[1].apply(x))


def test_jax_check_grads(jax, jax_adapter):
    from jax.test_util import check_grads

    x = jax.numpy.array([0.1, 0.5, -0.75])
    check_grads(jax_adapter.erfinv, (x,), order=2)
    check_grads(jax.jit(jax_adapter.erfinv), (x,), order=2)
    check_grads(lambda z: jax_adapter.erfinv(z) ** 2, (x,), order=2)


def test_jax_transformations(jax, jax_adapter):
    f, jnp = jax_adapter.erfinv, jax.numpy
    x = jnp.array([[0.1, 0.5], [-0.75, 0.0]])
    first = jax.vmap(jax.vmap(jax.grad(f)))(x)
    assert jnp.array_equal(jax.jit(jax.vmap(jax.vmap(jax.grad(f))))(x), first)
    assert jnp.array_equal(jax.vmap(f, in_axes=1, out_axes=1)(x), f(x))
    assert jnp.array_equal(jax.linearize(f, x)[1](jnp.ones_like(x)), first)
    second = jax.jit(jax.vmap(jax.vmap(jax.grad(jax.grad(f)))))(x)
    np.testing.assert_allclose(second, 2 * f(x) * first**2, 1e-15)
    row = x[0]
    for outer, inner in itertools.product((jax.jacrev, jax.jacfwd), repeat=2):
        hessian = jax.jit(outer(inner(lambda z: f(z).sum())))(row)
        np.testing.assert_allclose(hessian, jnp.diag(second[0]), 1e-15)

    # One x, many cotangents; many x, one cotangent.
    def pull(z, g):
        return jax.vjp(f, z)[1](g)[0]

    for axes, a, b in (((None, 0), row[0], x[0]), ((0, None), row, x[0, 0])):
        np.testing.assert_array_equal(jax.vmap(pull, axes)(a, b), pull(*jnp.broadcast_arrays(a, b)))
    total, steps = jax.lax.scan(lambda c, z: (c + f(z), jax.grad(f)(z)), 0.0, row)
    assert total == f(row).sum()
    assert jnp.array_equal(steps, first[0])
    assert jnp.array_equal(jax.grad(jax.checkpoint(lambda z: f(z).sum()))(row), first[0])


def test_jax_zero_tangents_at_the_poles(jax, jax_adapter):
    """Also where both the gradient and the tangent of y are in play."""
    f, x = jax_adapter.erfinv, jax.numpy.array([1.0, -1.0])
    gradient = jax.grad(lambda z: f(z).sum())
    assert jax.jvp(gradient, (x,), (jax.numpy.zeros(2),))[1].tolist() == [0, 0]
    dead = jax.grad(lambda z: (0 * f(z)).sum())
    assert jax.jvp(dead, (x,), (jax.numpy.ones(2),))[1].tolist() == [0, 0]


def test_jax_several_devices(jax_adapter, run_python):
    script = """
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
import lucid_erfinv
from lucid_erfinv.jax import erfinv
mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
spec = PartitionSpec("i")
x = np.linspace(-0.9, 0.9, 16, dtype="f")
placed = jax.device_put(x, NamedSharding(mesh, spec))
y = lucid_erfinv.erfinv(x)
first = lucid_erfinv.erfinv_backward(np.float32(1), y)
mapped = jax.jit(jax.shard_map(erfinv, mesh=mesh, in_specs=spec, out_specs=spec))
def slope(f):
    return jax.grad(lambda z: f(z).sum())
assert (np.asarray(jax.jit(erfinv)(placed)) == y).all()
assert (np.asarray(jax.jit(slope(erfinv))(placed)) == first).all()
assert (mapped(placed) == y).all()
assert (slope(mapped)(placed) == first).all()
np.testing.assert_allclose(slope(slope(mapped))(placed), 2 * y * first**2, 1e-6)
"""
    run_python(script, XLA_FLAGS="--xla_force_host_platform_device_count=4")


def test_jax_without_64_bits(jax, jax_adapter):
    f = jax_adapter.erfinv
    with jax.enable_x64(False):
        for x in (np.zeros(2), jax.numpy.zeros(2, int), 1):
            with pytest.raises(TypeError, match="needs float64, which JAX has disabled"):
                f(x)
        assert f(0.5).dtype == np.float32
        assert f(np.zeros(2, "f")).dtype == np.float32


def test_jax_array_likes(jax_adapter):
    for x in (0.5, [0.5], np.float32(0.5), np.array([0.5])):
        y = jax_adapter.erfinv(x)
        np.testing.assert_array_equal(y, erfinv(x))


# MLX ----------------------------------------------------------------------------------------------


def test_mlx_float64_is_float64(mlx_adapter):
    """MLX's own is computed in float32."""
    x = np.array([0.5, 0.999999999, 1 - 2.0**-53, 1.0000000000000002, 1e-310])
    y = mlx_adapter.erfinv(mlx_adapter.put(x))
    np.testing.assert_array_equal(mlx_adapter.get(y), erfinv(x))


def test_mlx_layouts(mx, mlx_adapter, assert_same_bits):
    x = np.linspace(-0.9, 0.9, 24).reshape(2, 3, 4)
    for dtype in ("d", "f", "e", BFLOAT16):
        whole = mlx_adapter.put(x.astype(dtype))
        for part in (whole.T, whole[:, ::2, 1:], mx.broadcast_to(whole[..., :1], (2, 3, 5))):
            y = mlx_adapter.erfinv(part)
            assert_same_bits(mlx_adapter.get(y), erfinv(np.array(mlx_adapter.get(part))))


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("modes", list(itertools.product(MODES, repeat=3)), ids="-".join)
def test_mlx_evaluation_cuts_no_graph(mx, mlx_adapter, name, modes):
    """Around erfinv of a derivative, and of erfinv: MLX's own evaluation there gives zeros."""
    x = mx.array([0.1, 0.5, -0.6]).astype(getattr(mx, name))
    rtol = {"float64": 1e-4, "float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}[name]
    for mode in MODES:
        pair = []
        for f in (mlx_adapter.erfinv, mx.erfinv):
            inner = mlx_adapter.derivative(mx.sin, mode)

            def function(z, f=f, inner=inner):
                return f(0.5 * inner(z * z)) + f(0.5 * f(0.5 * z))

            for outer in modes:
                function = mlx_adapter.derivative(function, outer)
            pair.append(np.array(function(x).astype(mx.float32)))
        np.testing.assert_allclose(*pair, rtol, 0.05)


def test_mlx_gradient_of_some_arguments(mx, mlx_adapter):
    def f(a, b):
        return (mlx_adapter.erfinv(a) * b).sum()

    a, b = mx.array([0.5]), mx.array([3.0])
    by_a, by_b = mx.grad(f, argnums=(0, 1))(a, b)
    assert by_a.item() == 3 * mx.grad(mlx_adapter.erfinv)(mx.array(0.5)).item()
    assert by_b.item() == mlx_adapter.erfinv(a).item()
    forward = mx.jvp(mx.grad(f, argnums=1), [a, b], [mx.ones_like(a), mx.ones_like(b)])[1][0]
    assert forward.item() == mx.grad(mlx_adapter.erfinv)(mx.array(0.5)).item()


def test_mlx_checkpoint(mx, mlx_adapter):
    x, f = mx.array([0.5, 0.1]), mlx_adapter.erfinv
    forgetful = mx.grad(lambda z: mx.checkpoint(f)(z).sum())
    assert mx.array_equal(forgetful(x), mx.grad(lambda z: f(z).sum())(x))


def test_mlx_frees_evaluated_graphs(mx, mlx_adapter):
    x = mx.zeros(100_000)
    mx.eval(x)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    for _ in range(50):
        x = mlx_adapter.erfinv(x * 0.5)
        mx.eval(x)
    assert mx.get_peak_memory() - before < 10 * x.nbytes


def test_mlx_compile_and_vmap_raise(mx, mlx_adapter):
    f, x = mlx_adapter.erfinv, mx.array([0.5])
    for function in (
        mx.compile(f),
        mx.vmap(f),
        mx.compile(mx.grad(lambda z: f(z).sum())),
        mx.vmap(mx.grad(f)),
        mx.compile(mx.vmap(f)),
    ):
        with pytest.raises(RuntimeError, match=r"neither in mx\.compile nor in mx\.vmap"):
            function(x)


def test_mlx_takes_arrays_only(mlx_adapter):
    for x in (0.5, [0.5], np.zeros(2)):
        with pytest.raises(TypeError, match=r"`x` must be an mlx\.core\.array, got"):
            mlx_adapter.erfinv(x)


# HIPS autograd ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def autograd_adapter():
    return Autograd()


def test_autograd_check_grads(autograd_adapter):
    from autograd.test_util import check_grads

    x = np.array([0.1, 0.5, -0.75])
    check_grads(autograd_adapter.erfinv, modes=["fwd", "rev"], order=3)(x)
    check_grads(autograd_adapter.erfinv, modes=["fwd", "rev"], order=2)(0.5)


def test_autograd_keeps_dtypes(autograd_adapter, fmt, assert_same_bits):
    """Cotangents of float64 do not make a float32 output one of float64, whose x is another."""
    from autograd import elementwise_grad

    x = np.array([0.5, 0.984375], fmt.dtype)
    expected = ErfinvBackward.forward(x)[1].apply(np.ones_like(x))
    assert_same_bits(elementwise_grad(autograd_adapter.erfinv)(x), expected)


def test_autograd_array_likes(autograd_adapter):
    for x in (0.5, 1, [0.5, 0.25], np.float32(0.5)):
        np.testing.assert_array_equal(autograd_adapter.erfinv(x), erfinv(x))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide"):
        autograd_adapter.erfinv(1.0)
