/* From stdin to stdout: erfinv or its gradient at one level.  SPDX-License-Identifier: MIT
 *   run_level <level> <number of inputs: 1 or 2> <type: as enum lucid_type> <elements> */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch.h"

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const struct lucid_level *level = NULL;
    for (size_t i = 0; i < lucid_level_count; i++)
        if (strcmp(lucid_levels[i].name, argv[1]) == 0)
            level = &lucid_levels[i];
    if (!level) {
        fprintf(stderr, "no level %s\n", argv[1]);
        return 2;
    }
    int inputs = atoi(argv[2]);
    enum lucid_type type = (enum lucid_type)atoi(argv[3]);
    size_t n = strtoul(argv[4], NULL, 10), size = type == LUCID_F64 ? 8 : type == LUCID_F32 ? 4 : 2;
    ptrdiff_t step = (ptrdiff_t)size, steps[] = {step, step, step};
    struct lucid_op op =
        inputs == 1 ? lucid_erfinv_op(level, type) : lucid_backward_op(level, type);
    char *operands[3];
    for (int i = 0; i <= inputs; i++)
        if (!(operands[i] = malloc(n * size)))
            return 2;
    for (int i = 0; i < inputs; i++)
        if (fread(operands[i], size, n, stdin) != n)
            return 2;
    lucid_run(&op, operands, steps, n);
    return fwrite(operands[inputs], size, n, stdout) != n;
}
