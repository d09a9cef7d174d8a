"""The generated tables are what their generators write."""

import subprocess
import sys
from pathlib import Path

import pytest

TABLES = Path(__file__).parent.parent / "lucid_erfinv" / "kernels" / "tables"
GENERATORS = sorted(path.stem for path in TABLES.glob("gen_*.py"))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """All generators, started at once: by name, the process and the folder that it writes to."""
    processes = {}
    for name in GENERATORS:
        folder = tmp_path_factory.mktemp(name)
        command = [sys.executable, "-B", TABLES / f"{name}.py", folder]
        processes[name] = subprocess.Popen(command), folder
    yield processes
    for process, _ in processes.values():
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", GENERATORS)
def test_generator_writes_the_same_bytes(running, name):
    process, folder = running[name]
    assert process.wait(timeout=600) == 0
    written = sorted(path.name for path in folder.iterdir())
    assert written
    for file in written:
        assert (folder / file).read_bytes() == (TABLES / file).read_bytes(), file


def test_every_table_has_a_generator(running):
    written = set()
    for process, folder in running.values():
        process.wait(timeout=600)
        written |= {path.name for path in folder.iterdir()}
    assert {path.name for path in TABLES.glob("*.c")} - written == set()
