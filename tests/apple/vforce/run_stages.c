/* From stdin to stdout, the accelerate level's stages with no second phase behind them: results,
 * then a byte for each that says whether it was left open.  SPDX-License-Identifier: MIT
 *   run_stages <bytes of an element: 8 or 4> <elements> */
#include <stdio.h>
#include <stdlib.h>

#include "Accelerate/Accelerate.h"
#include "erfinv_vforce.h"

static int block_f64(const double *x, double *y, uint16_t *open, int n) {
    double w[LUCID_VFORCE_BLOCK], s[LUCID_VFORCE_BLOCK];
    lucid_vforce_argument_f64(x, s, n);
    vvlog(w, s, &n);
    lucid_vforce_magnitude_f64(w, n);
    vvsqrt(s, w, &n);
    return lucid_vforce_refine_f64(x, w, s, y, open, n);
}

static int block_f32(const float *x, float *y, uint16_t *open, int n) {
    float w[LUCID_VFORCE_BLOCK], s[LUCID_VFORCE_BLOCK];
    lucid_vforce_argument_f32(x, s, n);
    vvlogf(w, s, &n);
    lucid_vforce_magnitude_f32(w, n);
    vvsqrtf(s, w, &n);
    return lucid_vforce_refine_f32(x, w, s, y, open, n);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    size_t size = strtoul(argv[1], NULL, 10), n = strtoul(argv[2], NULL, 10);
    char *values = malloc(n * size), *open = calloc(n, 1);
    if (!values || !open || fread(values, size, n, stdin) != n)
        return 2;
    for (size_t i = 0; i < n; i += LUCID_VFORCE_BLOCK) {
        uint16_t place[LUCID_VFORCE_BLOCK];
        int block = (int)(n - i < LUCID_VFORCE_BLOCK ? n - i : LUCID_VFORCE_BLOCK);
        void *at = values + i * size;
        int count = size == 8 ? block_f64(at, at, place, block) : block_f32(at, at, place, block);
        while (count > 0)
            open[i + place[--count]] = 1;
    }
    return fwrite(values, size, n, stdout) != n || fwrite(open, 1, n, stdout) != n;
}
