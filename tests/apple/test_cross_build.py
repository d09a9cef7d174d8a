"""The whole extension, compiled and linked for macOS on arm64, and every symbol that it imports.

A compile and link check: the headers of Python and NumPy are those of this machine.
"""

import ctypes
import json
import os
import re
import shlex
import subprocess
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

HEADERS = [Path(__file__).parent / folder for folder in ("stubs", "vforce")]  # of Apple's, here
TARGET = "aarch64-macos.14.0"
MODULES = ["_accelerate", "_metal", "_ufunc"]

# What libmlx.dylib has no use for.
BY_HAND = {
    "Accelerate": ["vvlog", "vvlogf", "vvsqrt", "vvsqrtf"],
    "libobjc": ["class_respondsToSelector", "object_getClass"],
}


class Import(NamedTuple):
    """A symbol that a binary does not define, and the library that it is bound to, if any."""

    name: str
    library: str | None


def macho(path):
    lief = pytest.importorskip("lief", reason="lief is not installed")
    lief.logging.disable()
    return lief.MachO.parse(os.fspath(path)).at(0)


def libraries(binary):
    """What it loads, in the order in which its imports count them."""
    return [command.name for command in binary.libraries if command.command.name != "ID_DYLIB"]


def imports(binary):
    loaded = libraries(binary)
    return [
        Import(
            symbol.name,
            loaded[symbol.library_ordinal - 1]
            if 0 < symbol.library_ordinal <= len(loaded)
            else None,  # looked up at run time, in whatever is loaded
        )
        for symbol in binary.symbols
        if symbol.raw_type & 0xE == 0  # undefined
    ]


def unbound(path):
    """The names of imports that neither a library of macOS nor Python exports."""
    return {
        name
        for name, library in imports(macho(path))
        if library is None and not hasattr(ctypes.pythonapi, name.removeprefix("_"))
    }


@pytest.fixture(scope="session")
def frameworks(mlx_metal, tmp_path_factory):
    """Stubs to link with, of Apple's libraries: what Apple's linker bound libmlx.dylib to."""
    folder = tmp_path_factory.mktemp("frameworks")
    libmlx = macho(mlx_metal / "mlx" / "lib" / "libmlx.dylib")
    for library in libraries(libmlx):
        names = {name for name, bound_to in imports(libmlx) if bound_to == library}
        stub = folder / f"{Path(library).name.partition('.')[0]}.tbd"
        if "/Frameworks/" in library:
            stub = folder / f"{stub.stem}.framework" / stub.name
            stub.parent.mkdir()
        elif stub.stem != "libobjc":
            continue  # libc++ and libSystem come with the compiler
        names.update(f"_{name}" for name in BY_HAND.get(stub.stem, ()))
        listed = ", ".join(f"'{name}'" for name in sorted(names))
        stub.write_text(
            "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\n"
            f"install-name: '{library}'\nexports:\n"
            f"  - targets: [ arm64-macos ]\n    symbols: [ {listed} ]\n...\n"
        )
    return folder


@pytest.fixture(scope="module")
def build(cross_build, mlx_metal, frameworks, tmp_path_factory):
    include = tmp_path_factory.mktemp("include")
    (include / "endian.h").write_text("#include <machine/endian.h>\n")  # for Linux's NumPy
    build = cross_build(
        TARGET,
        "darwin",
        compile_args=[f"-isystem{folder}" for folder in (include, *HEADERS)],
        link_args=[f"-F{frameworks}", f"-L{frameworks}"],
        environment={"PYTHONPATH": str(mlx_metal)},  # a build requirement, on macOS
    )
    build.ninja()
    return build


def built_modules(build):
    return {path.name.partition(".")[0]: path for path in build.build.glob("*.so")}


def test_extension_cross_builds(build, figure):
    assert sorted(built_modules(build)) == sorted(MODULES)
    levels = [path.stem.removeprefix("libkernels_") for path in build.build.glob("libkernels_*.a")]
    assert "neon" in levels
    figure(f"{', '.join(MODULES)} for {TARGET}, with levels {', '.join(sorted(levels))}")


@pytest.mark.parametrize("module", MODULES)
def test_every_import_is_bound(build, module, figure):
    path = built_modules(build)[module]
    assert unbound(path) == set()
    counts = Counter(Path(library or "libpython").name for _, library in imports(macho(path)))
    figure(", ".join(f"{count} by {name}" for name, count in sorted(counts.items())))


# That the check can fail --------------------------------------------------------------------------

ACCELERATE = 'cdef extern from "Accelerate/Accelerate.h":'
CAPSULE = """cdef extern from *:
    'void *PyCapsule_GetPointers(PyObject *, const char *);'
    void *PyCapsule_GetPointer 'PyCapsule_GetPointers'(object, const char *) except NULL
"""
DECLARED = """cdef extern from *:
    '''
    #include <Accelerate/Accelerate.h>
    void vvlogg(float *y, const float *x, const int *n);
    '''"""

SEEDS = {
    "_vvlogg": (
        "_accelerate",
        "_accelerate.pyx",
        {ACCELERATE: DECLARED, "void vvlogf(": 'void vvlogf "vvlogg"('},
    ),
    "_MTLCreateSystemDefaultDevise": (
        "_metal",
        "kernels/metal_host.cpp",
        {
            '#include "metal_host.h"\n': '#include "metal_host.h"\n'
            'extern "C" MTL::Device *MTLCreateSystemDefaultDevise();\n',
            "MTL::CreateSystemDefaultDevice()": "MTLCreateSystemDefaultDevise()",
        },
    ),
    "_PyCapsule_GetPointers": (
        "_accelerate",
        "_accelerate.pyx",
        {
            "from cpython.pycapsule cimport PyCapsule_GetPointer\n": CAPSULE,
        },
    ),
}


@contextmanager
def edited(path, replacements):
    text = path.read_text()
    changed = text
    for old, new in replacements.items():
        assert changed.count(old) == 1
        changed = changed.replace(old, new)
    path.write_text(changed)
    try:
        yield
    finally:
        path.write_text(text)


@pytest.mark.parametrize("symbol", SEEDS)
def test_invented_symbol_is_found(build, symbol, figure):
    """It links, because a Python module's imports may be left open, and then the check finds it."""
    module, source, replacements = SEEDS[symbol]
    with edited(build.source / "lucid_erfinv" / source, replacements):
        build.ninja()
        assert unbound(built_modules(build)[module]) == {symbol}
    build.ninja()
    assert unbound(built_modules(build)[module]) == set()
    figure(f"1 of 1, in {module}")


WRONG_CALLS = {
    "method": {"waitUntilCompleted()": "waitUntilComplete()"},
    "order of arguments": {"(of(buffers[i]), offsets[i], i)": "(offsets[i], of(buffers[i]), i)"},
    "number of arguments": {"newBuffer(bytes, MTL::ResourceStorageModeShared)": "newBuffer(bytes)"},
    "enumerator": {"MTL::MathModeSafe": "MTL::MathModeSave"},
    "const object": {"MTL::CompileOptions *options)": "const MTL::CompileOptions *options)"},
}


@pytest.mark.parametrize("fault", WRONG_CALLS)
def test_wrong_metal_call_does_not_compile(build, fault, figure):
    """With Apple's headers; what is right has been compiled by the build."""
    commands = json.loads((build.build / "compile_commands.json").read_text())
    (command,) = (c["command"] for c in commands if c["file"].endswith("metal_host.cpp"))
    with edited(build.source / "lucid_erfinv" / "kernels" / "metal_host.cpp", WRONG_CALLS[fault]):
        done = subprocess.run(
            [*shlex.split(command), "-fdiagnostics-color=never"],
            cwd=build.build,
            env=build.environment,
            capture_output=True,
            text=True,
        )
    assert done.returncode != 0
    figure(re.search(r"metal_host.cpp:\d+:\d+: error: (.*)", done.stderr)[1])
