"""The float64 slow path, stage by stage, and the hard cases in data/hard_f64.csv."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

from lucid_erfinv import _ufunc
from lucid_erfinv.sweep import REGIONS

HARD_CASES = Path(__file__).parent / "data" / "hard_f64.csv"
STAGES = (1, 2, 3)


@pytest.fixture(scope="module")
def hard():
    """Columns of the file, as arrays."""
    with HARD_CASES.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {
        "x": np.array([float.fromhex(row["x"]) for row in rows]),
        "result": np.array([float.fromhex(row["result"]) for row in rows]),
        "distance": np.array([float(row["distance"]) for row in rows]),
    }


# The file -----------------------------------------------------------------------------------------


def test_hard_cases_are_many_and_distinct(hard):
    x = hard["x"]
    assert x.size >= 2000
    assert np.count_nonzero(x > 0.5) >= 500
    odd_parts = {n // (n & -n) for n, _ in (value.as_integer_ratio() for value in x.tolist())}
    assert len(odd_parts) == x.size
    assert np.count_nonzero(abs(hard["distance"]) < 2.0**-20) >= 2000


def test_hard_results_are_the_oracles(hard, oracle, assert_same_bits):
    assert_same_bits(hard["result"], oracle(hard["x"]), hard["x"])


def test_hard_distances_are_confirmed(hard):
    """Of erfinv(x) from the nearest midpoint between doubles, in ulps of erfinv(x)."""
    ctx.prec = 300
    for x, result, distance in zip(*hard.values(), strict=True):
        exact = arb(x).erfinv()
        ulp = math.ulp(math.nextafter(result, 0.0) if exact < result else result)
        offset = float((exact - arb(result)) / ulp)
        found = float((exact - arb(result)) / ulp - math.copysign(0.5, offset))
        assert math.isclose(found, distance, rel_tol=1e-3), (x.hex(), found, distance)


def test_every_binade_of_the_tail_has_a_hard_case(hard):
    """1 - x down to the last float below 1."""
    exponents = np.frexp(1 - hard["x"][hard["x"] > 0.5])[1]
    assert set(range(-52, 0)) <= set(exponents.tolist())


# Through erfinv -----------------------------------------------------------------------------------


def test_hard_cases_are_correctly_rounded(level, hard, assert_same_bits):
    x, result = hard["x"], hard["result"]
    assert_same_bits(level(x), result, x)
    assert_same_bits(level(-x), -result, -x)
    for i in range(0, x.size, 97):
        assert_same_bits(level(x[i : i + 1]), result[i : i + 1])


def entering(level, x):
    """How many of x went to the slow path; none may reach its end undecided."""
    before = _ufunc._counters()
    level(x)
    after = _ufunc._counters()
    assert after["f64_exact_last"] == before["f64_exact_last"]
    return after["f64_exact"] - before["f64_exact"]


def test_hard_cases_take_the_slow_path(level, hard):
    """All of them but for tiny x, where the fast path sees further."""
    near = abs(hard["distance"]) < 2.0**-20
    tiny = hard["x"] < 2.0**-950
    assert entering(level, hard["x"][near & ~tiny]) == np.count_nonzero(near & ~tiny)
    assert entering(level, hard["x"][near & tiny]) >= 100


def test_few_others_do(level, rng):
    """Of 2^17 uniform inputs."""
    assert entering(level, rng.uniform(-1, 1, 1 << 17)) < 1 << 7


def shares(level, *inputs):
    """What part of the elements each counter has counted."""
    before = _ufunc._counters()
    for x in inputs:
        level(x)
    after = _ufunc._counters()
    return {name: (after[name] - before[name]) / inputs[0].size for name in before}


def test_few_lanes_leave_the_first_phase(level, rng):
    """0.03 and 0.0012, where there is a second phase; fewer where vForce gives the first value."""
    x = rng.uniform(-1, 1, 1 << 18)
    share = shares(level, x, x.astype("f"))
    assert list(share) == [
        "f32_second",
        "f64_second",
        "f64_exact",
        "f64_exact_wide",
        "f64_exact_last",
    ]
    if level.name == "baseline":
        assert share["f32_second"] == share["f64_second"] == 0
    elif level.name == "accelerate":
        assert 0 < share["f32_second"] < 0.001
        assert 0 < share["f64_second"] < 0.001
    else:
        assert 0.01 < share["f32_second"] < 0.035
        assert 0.0008 < share["f64_second"] < 0.002
    assert 0.00005 < share["f64_exact"] < 0.0005
    assert share["f64_exact_wide"] == share["f64_exact_last"] == 0


@pytest.mark.parametrize(("n", "most"), [(1 << 18, 0.002), (512, 64 / 512)])
def test_few_lanes_near_one_leave_the_first_phase(level, rng, n, most):
    """0.0012, but for those of the first 64 of a call."""
    x = 1 - 2.0 ** -rng.uniform(1, 53, n)
    assert shares(level, x)["f64_second"] < most


# The stages ---------------------------------------------------------------------------------------


def neighbours(x, result):
    """The doubles a <= erfinv(x) <= b around it, by ball arithmetic."""
    ctx.prec = 256
    if arb(x).erfinv() > arb(result):
        return result, math.nextafter(result, math.inf)
    return math.nextafter(result, 0.0), result


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("region", REGIONS)
def test_every_stage_decides(oracle, rng, region, stage):
    x = abs(REGIONS[region].sample(rng, 300))
    for x_i, result in zip(x.tolist(), oracle(x).tolist(), strict=True):
        if x_i > 0:
            a, b = neighbours(x_i, result)
            expected = -1 if result == a else 1
            assert _ufunc._exact_at(stage, x_i, a, b) == expected, (x_i.hex(), a.hex())


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_decides_the_hard_cases(hard, stage):
    for x, result in zip(hard["x"].tolist(), hard["result"].tolist(), strict=True):
        a, b = neighbours(x, result)
        expected = -1 if result == a else 1
        assert _ufunc._exact_at(stage, x, a, b) == expected, (x.hex(), a.hex())


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_sees_both_sides(stage):
    """The wrong neighbours: erfinv(x) below a, or above b."""
    for x in (1e-310, 1e-300, 1e-9, 0.01, 0.3, 0.5, 0.9, 0.999999, 1 - 2.0**-53):
        ctx.prec = 128
        near = float(arb(x).erfinv())
        above = near + 3 * math.ulp(near), near + 4 * math.ulp(near)
        below = near - 4 * math.ulp(near), near - 3 * math.ulp(near)
        assert _ufunc._exact_at(stage, x, *above) == -1
        assert _ufunc._exact_at(stage, x, *below) == 1


@pytest.mark.parametrize("stage", [0, 4, -1])
def test_there_is_no_other_stage(stage):
    with pytest.raises(ValueError, match="`stage` must be from 1 to 3"):
        _ufunc._exact_at(stage, 0.5, 0.47, 0.48)
