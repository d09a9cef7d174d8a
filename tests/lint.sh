#!/bin/sh
# Everything that reads the source without running it (make lint).
set -eu
PATH=$(cd "$1/bin" && pwd):$PATH

ruff check .
ruff format --check .
cython-lint lucid_erfinv
mypy
clang-format --dry-run --Werror lucid_erfinv/kernels/*.[ch] lucid_erfinv/kernels/*.cpp lucid_erfinv/kernels/*.metal \
    bench/*.c tests/data/*.c tests/apple/*.c tests/apple/*/*.c tests/apple/*/*.cpp tests/apple/*/*/*.h \
    tests/apple/mock/include/*/*.h tests/apple/shader/*/metal_stdlib

if grep -nE '#include *[<"](Python|numpy)' lucid_erfinv/kernels/*.[ch] lucid_erfinv/kernels/*.cpp \
    lucid_erfinv/kernels/tables/*.[ch]; then
    echo "lucid_erfinv/kernels must not include Python's or NumPy's headers"
    exit 1
fi
