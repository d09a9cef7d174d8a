"""The checks of the macOS parts: one line and one figure each, and the tools that they need."""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Apple's C++ headers of Metal, and a binary of theirs that imports from the frameworks.
MLX_METAL = "mlx-metal == 0.32.4"
MLX_METAL_SHA256 = "8019b2db622599267d66cc168b2f0dbf5af929790a6c3b3913e00eabc42a7947"
WHEEL_OPTIONS = ["--no-deps", "--platform", "macosx_14_0_arm64", "--only-binary=:all:"]
WHEEL_OPTIONS += ["--python-version", "3.12"]


# One line per check -------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("apple")


@pytest.fixture
def figure(record_property):
    """Tell what a check has found, in a few words with a number in them; once a test."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter):
    reports = [
        report
        for outcome in ("passed", "failed", "error", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        if "apple" in getattr(report, "keywords", ())
    ]
    if not reports:
        return
    terminalreporter.section("The macOS parts, as far as they can be checked here")
    for report in sorted(reports, key=lambda report: report.location[:2]):
        figures = [text for name, text in report.user_properties if name == "figure"]
        if report.skipped:
            figures = [report.longrepr[2].removeprefix("Skipped: ")]
        outcome = {"passed": "passed", "skipped": "skipped"}.get(report.outcome, "FAILED")
        part = Path(report.location[0]).stem.removeprefix("test_").replace("_", " ")
        name = report.location[2].removeprefix("test_").replace("_", " ").replace("[", " [")
        terminalreporter.write_line(f"{outcome:7}  {part}: {name}: {'; '.join(figures) or '-'}")


# Tools --------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def cache():
    """The folder of downloads, outside the tree."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(home) / "lucid_erfinv"
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="session")
def mlx_metal(cache):
    """The unpacked macOS wheel: the headers of Metal, and libmlx.dylib."""
    path = cache / MLX_METAL.replace(" == ", "-")
    if not path.exists():  # it is whole, then: the last step gives it its name
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            pinned = Path(scratch) / "requirements.txt"
            pinned.write_text(f"{MLX_METAL} --hash=sha256:{MLX_METAL_SHA256}\n")
            target = Path(scratch) / "target"
            command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
            command += ["--require-hashes", "-r", pinned, "--target", target, *WHEEL_OPTIONS]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode and "connection broken by" in done.stderr:
                pytest.skip(f"no network to fetch {MLX_METAL} with")
            assert done.returncode == 0, done.stderr
            try:
                target.rename(path)
            except OSError:  # another process was faster
                assert path.exists()
    return path


@pytest.fixture(scope="session")
def metal_cpp(mlx_metal):
    """The include directory with Metal/Metal.hpp, for macOS."""
    path = mlx_metal / "mlx" / "include" / "metal_cpp"
    assert (path / "Metal" / "Metal.hpp").exists()
    return path


@pytest.fixture(scope="session")
def zig():
    """The compiler that brings macOS's libc: a command prefix, before "cc" or "c++"."""
    if find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed: pip install 'lucid_erfinv[apple]'")
    return [sys.executable, "-m", "ziglang"]


@pytest.fixture(scope="session")
def clang():
    """Path of clang."""
    path = shutil.which("clang")
    if path is None:
        pytest.skip("clang is not installed: on Debian, apt install clang")
    return path


# Cross-builds -------------------------------------------------------------------------------------

CROSS_FILE = """
[binaries]
c = {cc}
cpp = {cxx}
ar = {ar}
cython = '{bin}/cython'
numpy-config = '{bin}/numpy-config'
python = '{python}'
strip = 'true'

[built-in options]
c_args = {compile_args}
cpp_args = {compile_args}
c_link_args = {link_args}
cpp_link_args = {link_args}

[host_machine]
system = '{system}'
{subsystem}
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


class CrossBuild:
    """A copy of the sources, and the folder where meson builds it for another machine."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.source = folder / "source"
        self.build = folder / "build"
        self.environment = environment
        self.source.mkdir()
        for name in ("meson.build", "meson.options"):
            shutil.copy(ROOT / name, self.source)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "lucid_erfinv", self.source / "lucid_erfinv", ignore=ignored)

    def run(self, *command):
        """What a command prints, which must succeed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            pytest.fail(f"{command} returned {done.returncode}:\n{done.stdout}", pytrace=False)
        return done.stdout

    def ninja(self, *targets):
        return self.run(sys.executable, "-m", "ninja", "-C", self.build, *targets)


@pytest.fixture(scope="session")
def cross_build(zig, tmp_path_factory):
    """Configure a build for arm64, of a copy of the sources."""
    for module in ("mesonbuild", "ninja"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'lucid_erfinv[apple]'")

    def configure(target, system, compile_args=(), link_args=(), environment=None):
        folder = tmp_path_factory.mktemp(target)
        scripts = Path(sys.executable).parent
        path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
        build = CrossBuild(folder, os.environ | {"PATH": path} | (environment or {}))
        cross = folder / "cross.ini"
        cross.write_text(
            CROSS_FILE.format(
                cc=[*zig, "cc", "-target", target],
                cxx=[*zig, "c++", "-target", target],
                ar=[*zig, "ar"],
                bin=scripts,
                python=sys.executable,
                compile_args=list(map(str, compile_args)),
                link_args=list(map(str, link_args)),
                system=system,
                subsystem="subsystem = 'macos'" if system == "darwin" else "",
            )
        )
        meson = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", "-Dwerror=true"]
        build.log = build.run(*meson, "--cross-file", cross, build.build, build.source)
        return build

    return configure
