"""docs/frameworks.md: every section's example, in an interpreter of its own."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "frameworks.md"
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", GUIDE.read_text(), re.M | re.S))
NEEDS = {"PyTorch": "torch", "JAX": "jax", "MLX": "mlx.core", "HIPS autograd": "autograd"}

RUN = """
import doctest, sys, warnings
warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")
examples = doctest.DocTestParser().get_doctest(sys.argv[1], {}, "guide", None, 0)
assert examples.examples
runner = doctest.DocTestRunner()
runner.run(examples)
sys.exit(runner.summarize(verbose=False).failed)
"""


def test_every_framework_has_a_section():
    assert set(NEEDS) < set(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_examples_run(section, run_python):
    if section in NEEDS:
        pytest.importorskip(NEEDS[section], reason=f"{NEEDS[section]} is not installed")
    code = "".join(re.findall(r"^```pycon\n(.+?)^```$", SECTIONS[section], re.M | re.S))
    if section == "Autocast":
        code = ">>> import numpy as np\n" + code
    done = run_python(RUN, code, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
