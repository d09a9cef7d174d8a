"""`python -m lucid_erfinv` as a user runs it: in a process of its own."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lucid_erfinv
from lucid_erfinv.__main__ import main

SWEEP_NEEDS = ("flint", "matplotlib", "rich", "scipy", "tqdm")


@pytest.fixture
def run(tmp_path):
    """Run it in an empty folder, warnings being errors there, too."""

    def run(*args, stdin="", status=0):
        command = [sys.executable, "-W", "error", "-m", "lucid_erfinv", *args]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=tmp_path, timeout=120
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Call main() in this process: the same, but quicker, for the many cases of one kind."""
    monkeypatch.chdir(tmp_path)

    def call(*args, stdin="", status=0):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            returned = main(args)
        except SystemExit as leave:
            returned = leave.code
        shown = capsys.readouterr()
        assert returned == status, shown.err
        return subprocess.CompletedProcess(args, returned, shown.out, shown.err)

    return call


def one_line(done):
    """Check that all the user sees is one line on stderr, and return it."""
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


# help, info ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], ["info", "eval", "sweep"]),
        (["info"], ["LUCID_ERFINV_ISA", "LUCID_ERFINV_NUM_THREADS"]),
        (["eval"], [".npy", ".csv", "standard input", "--dtype", "exit status"]),
        (["sweep"], ["scipy", "--points", "--seed", "--plot", "--no-plot", "near 1", "[sweep]"]),
    ],
)
def test_help_names_what_there_is(call, args, words):
    done = call(*args, "--help")
    for word in words:
        assert word in done.stdout


def test_no_command_is_a_usage_error(run):
    assert "usage:" in run(status=2).stderr


def test_version(run):
    assert run("--version").stdout == lucid_erfinv.__version__ + "\n"


def test_info_is_show_config(run, capsys):
    done = run("info")
    lucid_erfinv.show_config()
    assert done.stdout == capsys.readouterr().out
    assert lucid_erfinv.__version__ in done.stdout


# eval: numbers ------------------------------------------------------------------------------------

NUMBERS = ["0.5", "-0.25", "1e-20", "-1e-3", "0x1.fffffffffffffp-1", "-0.0", "1", "-1", "nan"]


def expected_lines(x, dtype="float64"):
    with np.errstate(all="ignore"):
        return [str(y) for y in lucid_erfinv.erfinv(np.array(x, dtype=dtype))]


def as_float(text):
    return float.fromhex(text) if "0x" in text else float(text)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("by", ["arguments", "stdin"])
def test_eval_numbers(call, by, dtype):
    if by == "arguments":
        done = call("eval", *NUMBERS, "--dtype", dtype)
    else:
        done = call("eval", "--dtype", dtype, stdin="\n".join(NUMBERS))
    assert done.stdout.split() == expected_lines([as_float(text) for text in NUMBERS], dtype)
    assert done.stderr == ""


def test_eval_known_values(run):
    done = run("eval", "0.5", "0.9999999999999999", "-0.0", "-1")
    assert done.stdout.split() == ["0.4769362762044699", "5.8635847487551676", "-0.0", "-inf"]


@pytest.mark.parametrize("text", ["-1.5", "1.0000000000000002", "-inf", "1e999"])
def test_eval_outside_is_nan_with_a_note(call, text):
    done = call("eval", text, "0.5")
    assert done.stdout.split() == ["nan", "0.4769362762044699"]
    assert done.stderr.count("\n") == 1
    assert "1 of 2" in done.stderr


def test_eval_of_an_empty_stdin_prints_nothing(call):
    assert call("eval").stdout == ""


def test_eval_refuses_with_exit_status_2(run):
    assert "'half'" in one_line(run("eval", "half", status=2))


def test_eval_refuses_bytes_that_are_no_text(tmp_path):
    command = [sys.executable, "-X", "utf8", "-m", "lucid_erfinv", "eval"]
    done = subprocess.run(command, input=b"\xff\xfe0.5\n", capture_output=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_eval_stops_quietly_when_its_reader_does(tmp_path):
    command = [sys.executable, "-m", "lucid_erfinv", "eval"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        process.stdin.write(b"0.5\n" * 100_000)
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("args", "stdin", "words"),
    [
        (["half"], "", ["argument", "'half'"]),
        (["0x1.zp3"], "", ["'0x1.zp3'"]),
        (["0x1p9999"], "", ["'0x1p9999'"]),
        ([], "0.5\n0,5\n", ["stdin, line 2", "'0,5'"]),
        (["0.5", "x.npy"], "", ["x.npy", "only argument"]),
        (["0.5", "-o", "y.txt"], "", ["y.txt", ".npy or .csv"]),
        (["0.5", "-o", "nowhere/y.npy"], "", ["nowhere/y.npy", "No such file"]),
        (["0.5", "-o", "nowhere/y.csv"], "", ["nowhere/y.csv", "No such file"]),
    ],
)
def test_eval_refuses_in_one_line(call, args, stdin, words):
    line = one_line(call("eval", *args, stdin=stdin, status=2))
    for word in words:
        assert word in line


# eval: files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", ">f4", "float64", "int8", "bool"])
def test_eval_npy_to_npy_keeps_shape_and_dtype(call, tmp_path, dtype):
    x = np.array([[-1, 0, 1], [0.5, 0.25, -0.75]]).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    done = call("eval", "x.npy", "-o", "y.npy")
    assert done.stdout == ""
    y = np.load(tmp_path / "y.npy")
    with np.errstate(all="ignore"):
        expected = lucid_erfinv.erfinv(x)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected, strict=True)


def test_eval_npy_in_fortran_order_and_another_dtype(run, tmp_path):
    x = np.asfortranarray(np.linspace(-1, 1, 12).reshape(3, 4))
    np.save(tmp_path / "x.npy", x)
    run("eval", "x.npy", "--dtype", "float32", "-o", "y.npy")
    with np.errstate(all="ignore"):
        expected = lucid_erfinv.erfinv(x.astype(np.float32))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected, strict=True)


def test_eval_npy_without_output_prints(run, tmp_path):
    np.save(tmp_path / "x.npy", np.float32([0.5, 0.25]))
    assert run("eval", "x.npy").stdout.split() == expected_lines([0.5, 0.25], "float32")


@pytest.mark.parametrize("heading", ["", "x\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_eval_csv_to_csv(call, tmp_path, heading, newline):
    text = (heading + "0.5\n-1e-3\n1\n").replace("\n", newline)
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    done = call("eval", "x.csv", "-o", "y.csv")
    assert done.stdout == ""
    lines = (tmp_path / "y.csv").read_text().splitlines()
    assert lines == heading.split() + expected_lines([0.5, -1e-3, 1])


def test_eval_numbers_to_a_file(run, tmp_path):
    run("eval", "0.5", "0.25", "-o", "y.csv")
    assert (tmp_path / "y.csv").read_text().split() == expected_lines([0.5, 0.25])


def test_eval_two_dimensions_are_no_csv(call, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    assert "(2, 3)" in one_line(call("eval", "x.npy", "-o", "y.csv", status=2))
    assert not (tmp_path / "y.csv").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.npy", b"", ["x.npy", "not a readable .npy file"]),
        ("x.npy", b"0.5\n0.25\n", ["x.npy", "not a readable .npy file"]),
        ("x.csv", b"", ["x.csv", "no numbers"]),
        ("x.csv", b"x\n", ["x.csv", "no numbers"]),
        ("x.csv", b"0.5\nhalf\n", ["x.csv, line 2", "'half'"]),
        ("x.csv", b"x\ny\n0.5\n", ["x.csv, line 2", "'y'"]),
        ("x.csv", b"0.5,1\n", ["x.csv, line 1", "one column, got 2"]),
        ("x.csv", b"0.5\n\nhalf\n", ["x.csv, line 3", "'half'"]),  # blank lines are passed over
        ("x.csv", b"\xff\xfe\x00", ["x.csv", "not a readable .csv file"]),
        ("x.csv", b"0.5\n\x00\n", ["x.csv"]),
    ],
)
def test_eval_malformed_file(call, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    line = one_line(call("eval", name, status=2))
    for word in words:
        assert word in line


def test_eval_truncated_npy(call, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(100))
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-8])
    assert "not a readable .npy file" in one_line(call("eval", "x.npy", status=2))


def test_eval_npy_of_objects_is_not_unpickled(call, tmp_path):
    np.save(tmp_path / "x.npy", np.array([0.5, None]), allow_pickle=True)
    assert "not a readable .npy file" in one_line(call("eval", "x.npy", status=2))


@pytest.mark.parametrize("name", ["x.npy", "x.csv"])
def test_eval_missing_file(run, name):
    assert f"{name}: No such file" in one_line(run("eval", name, status=2))


@pytest.mark.parametrize(
    ("dtype", "options"),
    [("longdouble", ())]
    + [
        (dtype, options)
        for dtype in ("complex128", "U3", "datetime64[s]")
        for options in ((), ("--dtype", "float64"))
    ],
)
def test_eval_dtype_that_erfinv_refuses(call, tmp_path, dtype, options):
    np.save(tmp_path / "x.npy", np.zeros(3).astype(dtype))
    assert one_line(call("eval", "x.npy", *options, status=2)).startswith(
        "python -m lucid_erfinv: x.npy: "
    )


# sweep --------------------------------------------------------------------------------------------


@pytest.fixture
def sweep_modules():
    for name in SWEEP_NEEDS:
        pytest.importorskip(name)


@pytest.mark.usefixtures("sweep_modules")
def test_sweep_prints_a_table_and_draws(run, tmp_path):
    done = run("sweep", "--points", "1000", "--jobs", "1")
    rows = [line.split() for line in done.stdout.splitlines() if "lucid_erfinv " in line]
    assert [row[:3] for row in rows] == [
        ["float32", "uniform", "lucid_erfinv"],
        ["float32", "near", "0"],
        ["float32", "near", "1"],
        ["float64", "uniform", "lucid_erfinv"],
        ["float64", "near", "0"],
        ["float64", "near", "1"],
    ]
    for row in rows:
        worst, mean, wrong, ns = row[-4:]
        assert 0 < float(mean) < float(worst) <= 0.5
        assert wrong == "0"
        assert float(ns) > 0
    assert sum(line.split()[:1] == ["scipy"] for line in done.stdout.splitlines()) == 6
    assert "6.00k/6.00k" in done.stderr
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("sweep_modules")
def test_sweep_options(run, tmp_path):
    done = run(
        *("sweep", "--points", "300", "--region", "subnormal", "borders", "--dtype", "float64"),
        *("--seed", "7", "--jobs", "1", "--plot", "picture.png"),
    )
    assert "subnormal" in done.stdout
    assert "float32" not in done.stdout
    assert (tmp_path / "picture.png").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("--seed", "-1"), ("--points", "0"), ("--jobs", "x")]
)
def test_sweep_refuses_what_is_no_number(run, option, value):
    assert (
        f"must be a whole number from {int(option != '--seed')} on, got {value}"
        in run("sweep", option, value, status=2).stderr
    )


@pytest.mark.usefixtures("sweep_modules")
def test_sweep_without_plot_leaves_nothing(run, tmp_path):
    run("sweep", "--points", "100", "--region", "uniform", "--jobs", "1", "--no-plot")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("sweep_modules")
def test_sweep_sees_a_misrounded_result(call, monkeypatch):
    right = lucid_erfinv.erfinv
    monkeypatch.setattr(
        lucid_erfinv, "erfinv", lambda x, out=None: np.nextafter(right(x), x.dtype.type(2), out)
    )
    done = call("sweep", "--points", "50", "--region", "near 0", "--no-plot", status=1)
    assert "100.00%" in done.stdout


@pytest.mark.usefixtures("sweep_modules")
@pytest.mark.parametrize("path", ["nowhere/a.png", "a.txt", "a"])
def test_sweep_refuses_a_picture_that_cannot_be_written(call, path):
    assert f"{path}: " in one_line(call("sweep", "--plot", path, status=2))


def test_sweep_says_what_to_install(tmp_path):
    without_rich = (
        "import runpy, sys; sys.modules['rich'] = None; sys.argv[1:] = ['sweep'];"
        "runpy.run_module('lucid_erfinv', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", without_rich], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    line = one_line(done)
    assert "rich" in line
    assert 'pip install "lucid_erfinv[sweep]"' in line


@pytest.mark.parametrize("args", [["--points", "0"], ["--points", "x"], ["--region", "moon"]])
def test_sweep_usage_errors(call, args):
    assert "usage:" in call("sweep", *args, status=2).stderr


# bench/accuracy.py --------------------------------------------------------------------------------


@pytest.fixture
def accuracy(tmp_path):
    for name in (*SWEEP_NEEDS, "ml_dtypes"):
        pytest.importorskip(name)

    def accuracy(*args):
        script = Path(__file__).parents[1] / "bench" / "accuracy.py"
        return subprocess.run(
            [sys.executable, "-P", script, *args], capture_output=True, text=True, cwd=tmp_path
        )

    return accuracy


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_half_precision_input(accuracy, dtype):
    done = accuracy("--exhaustive", dtype)
    assert done.returncode == 0, done.stderr
    assert all(line.endswith("65,536 inputs, 0 wrong") for line in done.stdout.splitlines())


def test_float64_by_arb(accuracy):
    done = accuracy("--float64", "2e4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 2 + 10


@pytest.mark.skipif(not shutil.which("cc"), reason="no cc to compile the oracle with")
def test_float64_by_the_c_oracle(accuracy):
    done = accuracy("--random", "2e6")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2,621,440 points, 0 failures" in done.stdout
