"""Join erfinv.metal and its tables into one text, and write that as a C++ string literal too.

    python join_metal.py shader.metal tables.h joined.metal literal.inc

SPDX-License-Identifier: MIT
"""

import sys
from pathlib import Path

MARK = "lucid_metal"
LONGEST = 12000  # of a literal: compilers join adjacent ones, and some limit a single one


def joined(shader, tables):
    include = f'#include "tables/{tables.name}"\n'
    before, after = shader.read_text().split(include)
    return before + tables.read_text() + after


def literal(text):
    parts, lines = [], []
    for line in text.splitlines(keepends=True):
        if sum(map(len, lines)) + len(line) > LONGEST:
            parts.append("".join(lines))
            lines = []
        lines.append(line)
    parts.append("".join(lines))
    if f"){MARK}" in text:
        raise ValueError(f"the text has the end mark {MARK}")
    return "\n".join(f'R"{MARK}({part}){MARK}"' for part in parts) + "\n"


def main():
    shader, tables, text, quoted = map(Path, sys.argv[1:])
    source = joined(shader, tables)
    text.write_text(source)
    quoted.write_text(literal(source))


if __name__ == "__main__":
    main()
