/* Stands in for vForce where there is none: loops over libm, for tests.
 * SPDX-License-Identifier: MIT
 * The environment variable LUCID_VFORCE, read once, spoils the results as vForce might, and worse:
 *   noise:ULP:SEED  each is off by at most so many ulp, by a hash of the seed and the argument
 *   flush           subnormal arguments and results are zero
 *   garbage         each is any bit pattern, by a hash of the argument */
#include "Accelerate/Accelerate.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum mode { PLAIN, NOISE, FLUSH, GARBAGE };
static enum mode mode;
static uint64_t ulps, seed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_mode(void) {
    const char *wanted = getenv("LUCID_VFORCE");
    if (wanted == NULL || *wanted == 0) {
        return;
    }
    if (strncmp(wanted, "noise:", 6) == 0) {
        mode = NOISE;
        char *rest;
        ulps = strtoull(wanted + 6, &rest, 10);
        seed = strtoull(rest + (*rest == ':'), NULL, 10);
    } else if (strcmp(wanted, "flush") == 0) {
        mode = FLUSH;
    } else if (strcmp(wanted, "garbage") == 0) {
        mode = GARBAGE;
    } else {
        abort();
    }
}

static uint64_t hash(uint64_t key) {
    key = (key ^ seed) * 0x9e3779b97f4a7c15u;
    key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u;
    return key ^ key >> 32;
}

/* A pattern, of a number with so many fraction bits, for the result at an argument. */
static uint64_t spoilt(uint64_t result, uint64_t argument, int fraction) {
    uint64_t magnitude = ((uint64_t)1 << (fraction == 52 ? 63 : 31)) - 1;
    uint64_t size = result & magnitude;
    switch (mode) {
    case NOISE:
        if (size >> fraction == 0 || size >> fraction == magnitude >> fraction) {
            return result; /* zero, subnormal, infinite or NaN */
        }
        return result + hash(argument) % (2 * ulps + 1) - ulps;
    case FLUSH:
        return size >> fraction == 0 ? result & ~magnitude : result;
    case GARBAGE:
        return hash(argument);
    default:
        return result;
    }
}

static double spoilt_f64(double (*function)(double), double x) {
    uint64_t argument, result;
    memcpy(&argument, &x, sizeof x);
    if (mode == FLUSH && fabs(x) < 0x1p-1022) {
        x = copysign(0, x);
    }
    double y = function(x);
    memcpy(&result, &y, sizeof y);
    result = spoilt(result, argument, 52);
    memcpy(&y, &result, sizeof y);
    return y;
}

static float spoilt_f32(float (*function)(float), float x) {
    uint32_t argument, result;
    memcpy(&argument, &x, sizeof x);
    if (mode == FLUSH && fabsf(x) < 0x1p-126f) {
        x = copysignf(0, x);
    }
    float y = function(x);
    memcpy(&result, &y, sizeof y);
    result = (uint32_t)spoilt(result, argument, 23);
    memcpy(&y, &result, sizeof y);
    return y;
}

void vvlog(double *y, const double *x, const int *n) {
    pthread_once(&once, read_mode);
    for (int i = 0; i < *n; i++) {
        y[i] = spoilt_f64(log, x[i]);
    }
}

void vvlogf(float *y, const float *x, const int *n) {
    pthread_once(&once, read_mode);
    for (int i = 0; i < *n; i++) {
        y[i] = spoilt_f32(logf, x[i]);
    }
}

void vvsqrt(double *y, const double *x, const int *n) {
    pthread_once(&once, read_mode);
    for (int i = 0; i < *n; i++) {
        y[i] = spoilt_f64(sqrt, x[i]);
    }
}

void vvsqrtf(float *y, const float *x, const int *n) {
    pthread_once(&once, read_mode);
    for (int i = 0; i < *n; i++) {
        y[i] = spoilt_f32(sqrtf, x[i]);
    }
}
