"""Worker threads change neither bits nor flags, and start only when needed."""

import os
import sys
import threading

import numpy as np
import pytest

import lucid_erfinv
from lucid_erfinv import erfinv, erfinv_into, get_num_threads, set_num_threads

LONG = 1 << 19  # elements: enough for every thread to get a piece


@pytest.fixture(autouse=True)
def restored_number():
    number = get_num_threads()
    yield
    set_num_threads(number)


@pytest.fixture(params=[1, 2, 4])
def num_threads(request):
    set_num_threads(request.param)
    return request.param


@pytest.fixture(scope="module")
def samples(formats):
    """By format: values of all kinds, and erfinv of them by one thread, in short pieces."""
    rng = np.random.default_rng(5)
    result = {}
    for name, fmt in formats.items():
        x = rng.uniform(-1, 1, LONG).astype(fmt.dtype)
        x[::7] = fmt.values(rng.integers(0, fmt.one + 3, x[::7].size))
        x[::1013] = np.nan
        with np.errstate(all="ignore"):
            result[name] = x, np.concatenate([erfinv(part) for part in np.split(x, 512)])
    return result


def test_same_bits(num_threads, fmt, samples, assert_same_bits):
    x, expected = samples[fmt.name]
    with np.errstate(all="ignore"):
        assert_same_bits(erfinv(x), expected, x)
        assert_same_bits(erfinv(x[1:-3]), expected[1:-3], x[1:-3])
        assert_same_bits(erfinv(x[::-2]), expected[::-2])
        in_place = x.copy()
        erfinv(in_place, out=in_place)
        assert_same_bits(in_place, expected, x)
        if fmt.dtype.char in "fd":
            out = np.empty_like(x)
            erfinv_into(x, out)
            assert_same_bits(out, expected, x)


@pytest.mark.parametrize(
    "n", [1, 1000, 8191, 8192, 8193, 65535, 65536, 65537, 65536 + 8 * 8192 + 1]
)
def test_lengths_around_pieces(n, samples, assert_same_bits):
    set_num_threads(4)
    x, expected = (part[:n] for part in samples["float64"])
    with np.errstate(all="ignore"):
        assert_same_bits(erfinv(x), expected)


@pytest.mark.parametrize(
    ("value", "error"), [(1.0, "divide by zero"), (-2.0, "invalid value"), (1e-310, "underflow")]
)
def test_flags_of_every_piece_reach_the_caller(num_threads, value, error):
    x = np.full(LONG, 0.25)
    with np.errstate(all="raise"):
        erfinv(x)
        for at in (0, 8191, LONG // 3, LONG // 2, LONG - 8193, LONG - 1):
            x[at] = value
            with pytest.raises(FloatingPointError, match=error):
                erfinv(x)
            x[at] = 0.25
        erfinv(x)


def test_callers_environment_changes_no_bit(num_threads, fpu, samples, assert_same_bits):
    x, expected = samples["float32"]
    out = np.empty_like(x)
    fpu.set_rounding("upward")
    fpu.flush_subnormals()
    try:
        with np.errstate(all="ignore"):
            erfinv(x, out=out)
    finally:
        fpu.reset()
    assert_same_bits(out, expected, x)


def test_many_callers_at_once(num_threads, samples, assert_same_bits):
    inputs = [samples["float64"], samples["float32"]] * 3
    start, results = threading.Barrier(len(inputs)), [None] * len(inputs)

    def call(i):
        start.wait()
        with np.errstate(all="ignore"):
            results[i] = [erfinv(inputs[i][0]) for _ in range(5)]

    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(inputs))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for (_, expected), calls in zip(inputs, results, strict=True):
        for result in calls:
            assert_same_bits(result, expected)


def test_number_may_change_while_others_compute(samples, assert_same_bits):
    x, expected = samples["float64"]
    finished = threading.Event()

    def change():
        while not finished.is_set():
            for n in (1, 3, 2, 8):
                set_num_threads(n)

    other = threading.Thread(target=change)
    other.start()
    try:
        with np.errstate(all="ignore"):
            results = [erfinv(x) for _ in range(10)]
    finally:
        finished.set()
        other.join()
    for result in results:
        assert_same_bits(result, expected)


# Setting the number -------------------------------------------------------------------------------


def test_default_is_one(run_python):
    script = "import lucid_erfinv; print(lucid_erfinv.get_num_threads())"
    assert run_python(script, LUCID_ERFINV_NUM_THREADS="") == "1\n"


@pytest.mark.parametrize("n", [1, 2, 1024, np.int64(3), True])
def test_number_is_kept(n):
    set_num_threads(n)
    assert get_num_threads() == n
    assert lucid_erfinv.show_config(mode="dicts")["threads"] == n


@pytest.mark.parametrize("n", [0, -1, 1025, 10**30])
def test_number_out_of_range(n):
    with pytest.raises(ValueError, match=f"`n` must be from 1 to 1024, got {n}"):
        set_num_threads(n)


@pytest.mark.parametrize("n", [1.0, "2", None, [2]])
def test_number_that_is_no_integer(n):
    with pytest.raises(TypeError, match=f"`n` must be an integer, got {type(n).__name__}"):
        set_num_threads(n)


# In fresh processes -------------------------------------------------------------------------------

TASKS = """
import os, numpy as np
def tasks():
    return len(os.listdir("/proc/self/task"))
before = tasks()
import lucid_erfinv
counts = [tasks() - before]
x = np.full(1 << 20, 0.3)
for n in (1, 3):
    lucid_erfinv.set_num_threads(n)
    lucid_erfinv.erfinv(x[:1000])
    counts.append(tasks() - before)
    lucid_erfinv.erfinv(x)
    counts.append(tasks() - before)
print(*counts)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no /proc/self/task to count in")
def test_threads_start_when_first_needed(run_python):
    """Not on import, not for one thread, not for a short array."""
    assert run_python(TASKS).split() == ["0", "0", "0", "0", "2"]


FORK = """
import os, sys, warnings
import numpy as np
from lucid_erfinv import erfinv, set_num_threads
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
set_num_threads(3)
x = np.linspace(-0.999, 0.999, 1 << 19)
expected = erfinv(x)
for generation in range(5):
    child = os.fork()
    if child == 0:
        same = np.array_equal(erfinv(x), expected)
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if np.array_equal(erfinv(x), expected) else 1)
        os._exit(0 if same and os.waitpid(grandchild, 0)[1] == 0 else 1)
    assert np.array_equal(erfinv(x), expected)
    assert os.waitpid(child, 0)[1] == 0
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork here")
def test_forked_children_compute_with_threads(run_python):
    assert run_python(FORK) == "same\n"


FORK_WHILE_BUSY = """
import os, threading, warnings
import numpy as np
from lucid_erfinv import erfinv, set_num_threads
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
set_num_threads(2)
x = np.linspace(-0.999, 0.999, 1 << 18)
expected = erfinv(x)
finished = threading.Event()
def keep_busy():
    while not finished.is_set():
        erfinv(x)
other = threading.Thread(target=keep_busy)
other.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(erfinv(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
finished.set()
other.join()
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork here")
def test_fork_while_another_thread_computes(run_python):
    """Whatever state the pool's lock is in."""
    assert run_python(FORK_WHILE_BUSY) == "same\n"


LIMITED = """
import resource, numpy as np
from lucid_erfinv import erfinv, set_num_threads
x = np.linspace(-0.999, 0.999, 1 << 19)
expected = erfinv(x)
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (6 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
set_num_threads(4)
out = x
erfinv(x, out=out)
assert (out == expected).all()
print("same")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its address space as Linux does")
def test_without_memory_for_threads_one_computes(run_python):
    assert run_python(LIMITED) == "same\n"
