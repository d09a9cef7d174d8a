#!/bin/sh
# Everything that reads the source without running it (make lint).
set -eu
bin=$1/bin

"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/cython-lint" lucid_erfinv
"$bin/mypy"
"$bin/clang-format" --dry-run --Werror lucid_erfinv/kernels/*.[ch] bench/*.c tests/data/*.c

if grep -nE '#include *[<"](Python|numpy)' lucid_erfinv/kernels/*.[ch] lucid_erfinv/kernels/tables/*.[ch]; then
    echo "lucid_erfinv/kernels must not include Python's or NumPy's headers"
    exit 1
fi
