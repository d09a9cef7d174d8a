"""The choice of the level, the environment variables, and what the package says of itself."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lucid_erfinv
from lucid_erfinv import _ufunc

SHOW_LEVEL = "import lucid_erfinv; print(lucid_erfinv._ufunc._chosen_level())"
SHOW_THREADS = "import lucid_erfinv; print(lucid_erfinv.get_num_threads())"


def test_levels_are_the_usable_part_of_what_was_built():
    built, usable = _ufunc._built_levels(), _ufunc._levels()
    # The stand-in for vForce comes before all, so that it never is the best.
    assert next(name for name in built if name != "accelerate") == "baseline"
    assert next(name for name in usable if name != "accelerate") == "baseline"
    assert [name for name in built if name in usable] == list(usable)


@pytest.mark.parametrize("name", _ufunc._levels())
def test_a_usable_level_is_taken(run_python, name):
    assert run_python(SHOW_LEVEL, LUCID_ERFINV_ISA=name).strip() == name


def test_the_best_level_is_the_default(run_python):
    assert run_python(SHOW_LEVEL, LUCID_ERFINV_ISA="").strip() == _ufunc._levels()[-1]


@pytest.mark.parametrize("name", ["sse9", "AVX2", " ", "baseline,avx2"])
def test_another_name_lists_the_usable_levels(run_python, name):
    done = run_python(SHOW_LEVEL, LUCID_ERFINV_ISA=name, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: LUCID_ERFINV_ISA={name!r} is not usable here, "
        f"the usable levels are {', '.join(_ufunc._levels())}"
    )


def test_a_level_that_the_cpu_lacks_is_refused(run_python):
    missing = set(_ufunc._built_levels()) - set(_ufunc._levels())
    if not missing:
        pytest.skip("this CPU can run every level that was built")
    done = run_python(SHOW_LEVEL, LUCID_ERFINV_ISA=missing.pop(), check=False)
    assert "ImportError" in done.stderr


@pytest.mark.parametrize(("wanted", "threads"), [("", 1), ("1", 1), ("3", 3), ("1024", 1024)])
def test_number_of_threads_from_the_environment(run_python, wanted, threads):
    assert int(run_python(SHOW_THREADS, LUCID_ERFINV_NUM_THREADS=wanted)) == threads


@pytest.mark.parametrize("wanted", ["0", "-2", "1025", "two", "1.5", " "])
def test_a_bad_number_of_threads_is_an_import_error(run_python, wanted):
    done = run_python(SHOW_THREADS, LUCID_ERFINV_NUM_THREADS=wanted, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: LUCID_ERFINV_NUM_THREADS must be an integer from 1 to 1024, got {wanted!r}"
    )


def test_show_config_as_dictionary():
    config = lucid_erfinv.show_config(mode="dicts")
    assert config["version"] == lucid_erfinv.__version__
    assert config["levels"] == {
        "built": list(_ufunc._built_levels()),
        "usable": list(_ufunc._levels()),
        "chosen": _ufunc._chosen_level(),
        "missing": _ufunc._missing_levels(),
    }
    assert config["threads"] == lucid_erfinv.get_num_threads()
    assert config["compiler"].split()[0] in ("gcc", "clang", "other")


def test_accelerate_is_built_or_missing_with_a_reason():
    missing = _ufunc._missing_levels()
    assert ("accelerate" in missing) != ("accelerate" in _ufunc._built_levels())
    if sys.platform != "darwin" and missing:
        assert missing["accelerate"] == "it needs Accelerate, which only macOS has"


def test_show_config_as_text(capsys):
    assert lucid_erfinv.show_config() is None
    text = capsys.readouterr().out
    assert f"version: {lucid_erfinv.__version__}\n" in text
    assert f"  chosen: {_ufunc._chosen_level()}\n" in text
    assert f"  usable: {', '.join(_ufunc._levels())}\n" in text


def test_show_config_refuses_another_mode():
    with pytest.raises(ValueError, match="`mode` must be 'stdout' or 'dicts', got 'text'"):
        lucid_erfinv.show_config(mode="text")


def test_version_is_the_installed_one():
    assert lucid_erfinv.__version__ == importlib.metadata.version("lucid_erfinv")


def test_public_names_exist():
    for name in lucid_erfinv.__all__:
        assert hasattr(lucid_erfinv, name)


def test_source_folder_says_so(tmp_path):
    """Without the compiled module, as in a clone, the import fails with the way out."""
    source, copy = Path(lucid_erfinv.__file__).parent, tmp_path / "lucid_erfinv"
    copy.mkdir()
    for file in source.glob("*.py"):
        shutil.copy(file, copy)
    done = subprocess.run(
        [sys.executable, "-c", "import lucid_erfinv"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k not in ("PYTHONSAFEPATH", "PYTHONPATH")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "this is the source folder" in done.stderr.splitlines()[-1]


# Importing ----------------------------------------------------------------------------------------


def test_import_adds_only_numpy(run_python):
    """The import is as quick as NumPy's because it imports nothing else: no ml_dtypes, no SciPy."""
    script = """
import sys, numpy
before = set(sys.modules)
import lucid_erfinv
added = {name.partition(".")[0] for name in set(sys.modules) - before if sys.modules[name].__spec__}
print(*added - set(sys.stdlib_module_names))
"""
    assert run_python(script).split() == ["lucid_erfinv"]


def test_import_does_not_load_what_takes_long(run_python):
    """Of the standard library: importlib.resources and what it needs take 15 ms."""
    script = "import sys, numpy, lucid_erfinv; print('importlib.resources' in sys.modules)"
    assert run_python(script).strip() == "False"


def test_free_threading_stays_on(run_python):
    """C12 cython#6239."""
    if sys.version_info < (3, 13) or sys._is_gil_enabled():
        pytest.skip("this Python has the GIL")
    assert run_python("import sys, lucid_erfinv; print(sys._is_gil_enabled())").strip() == "False"


def test_subinterpreter_does_not_crash(run_python):
    """C13 numpy#24755: NumPy and Cython refuse or allow it; no signal ends the process."""
    script = """
try:
    import _interpreters as interpreters
except ModuleNotFoundError:
    import _xxsubinterpreters as interpreters
import lucid_erfinv
other = interpreters.create()
try:
    print(interpreters.run_string(other, "import warnings; warnings.simplefilter('ignore'); "
                                  "import lucid_erfinv"))
except Exception as error:
    print(error)
interpreters.destroy(other)
print("alive")
"""
    done = run_python(script, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "alive"
