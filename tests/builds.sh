#!/bin/sh
# The tests again, on builds that the default one says nothing about (make test-builds).
set -eu
python=$1/bin/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# build <name> <source> <options>: into a folder that goes before site-packages
build() {
    echo "== $1"
    target=$scratch/$1
    source=$2
    shift 2
    "$python" -m pip --disable-pip-version-check -q install --no-deps --target "$target" "$@" "$source"
    export PYTHONPATH="$target"
}

# The tables and the command line are the same in every build.
run_tests() {
    "$python" -P -m pytest -q -p no:cacheprovider \
        --ignore tests/test_tables.py --ignore tests/test_cli.py "$@"
}

build werror . -Csetup-args=-Dwerror=true
"$python" -P -m lucid_erfinv info

build baseline . -Csetup-args=-Disa= -Csetup-args=-Dwerror=true
run_tests

if command -v clang > /dev/null; then
    CC=clang build clang . -Csetup-args=-Dwerror=true
    run_tests
else
    echo "== clang: skipped, it is not installed here"
fi

"$python" -m pip --disable-pip-version-check -q install build
"$python" -m build -q --sdist --outdir "$scratch/dist" .
build sdist "$(ls "$scratch"/dist/*.tar.gz)"
run_tests tests/test_values.py tests/test_dispatch.py

build sanitized . -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
    -Csetup-args=-Dbuildtype=debugoptimized
preload="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 \
    run_tests tests/test_values.py tests/test_accuracy.py tests/test_exact.py tests/test_ufunc.py \
    tests/test_backward.py tests/test_threads.py -k "not costs_no_more"
