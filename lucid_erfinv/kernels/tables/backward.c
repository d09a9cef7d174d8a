/* Tables of the float64 and float32 gradient kernels, written by gen_backward.py; do not
 * edit.  SPDX-License-Identifier: MIT */
#include "backward.h"

/* sqrt(pi)/2 * 2^(j/16), j = 0 to 15, and what a double lacks of it:
 * python gen_backward.py */
_Alignas(64) const double lucid_backward_f64_power[2][16] = {
    {
        0x1.c5bf891b4ef6bp-1, 0x1.d9d65b8a377b5p-1, 0x1.eed0df2bff640p-1, 0x1.025c9457c9c96p+0,
        0x1.0dccdf82c9163p+0, 0x1.19bed037a4989p+0, 0x1.263823e385551p+0, 0x1.333ed90230211p+0,
        0x1.40d931ff62706p+0, 0x1.4f0db838d478ap+0, 0x1.5de33f2252abfp+0, 0x1.6d60e78d70efdp+0,
        0x1.7d8e23166b105p+0, 0x1.8e72b7b7d7cc2p+0, 0x1.a016c386e67f1p+0, 0x1.b282c099f2eafp+0,
    },
    {
        -0x1.618f13eb7ca89p-55, -0x1.36b45d36c7bdep-56, -0x1.72e0bb3a2f36dp-55, 0x1.0d553050bdc84p-55,
        0x1.185acacab7a7bp-54, -0x1.e6aff6da89be7p-54, -0x1.1ef7836df0abcp-60, -0x1.a506e3da4c3ebp-54,
        -0x1.a6a0d6f814637p-54, -0x1.0361b3ae796ecp-54, -0x1.371dfae8f51c5p-54, 0x1.8d81845d9de33p-55,
        0x1.27b0d9f916277p-54, 0x1.c32d59d89c23cp-55, 0x1.4c2aa3f99ff22p-54, -0x1.3e74fe3312293p-54,
    },
};

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/32, degree 5, ascending;
 * error of exp(r) below 2^-64.4: python gen_backward.py */
const double lucid_backward_f64_exp[6] = {
    0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.55555554e8da4p-5, 0x1.11111110e0da6p-7,
    0x1.6c17ede2c7d1fp-10, 0x1.a01b0cb432eb1p-13,
};

/* Segment of y in [0.5, 8), by the lowest 2 exponent bits and the upper 4 fraction bits:
 * python gen_backward.py */
_Alignas(64) const uint8_t lucid_backward_f64_segment[64] = {
    8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12,
    13, 13, 14, 14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4,
    4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7,
};

/* G(y) = sqrt(pi) y exp(y^2) erfc(y) on 16 segments, of degree 11 in h = y - centre.
 * Row 0 has the centres, the next ones the coefficients, ascending.  Error below
 * 2^-59.6.  Segments begin at
 * 0.5 0.53125 0.625 0.75 0.90625 1.125 1.375 1.6875 2 2.375 2.75 3.125 3.625 4 4.5 5.25
 * and the last ends at 6: python gen_backward.py */
_Alignas(64) const double lucid_backward_f64_g[13][16] = {
    {
        0x1.07fe000000000p-1, 0x1.29c2000000000p-1, 0x1.5d1c000000000p-1, 0x1.ac4c000000000p-1,
        0x1.00d9000000000p+0, 0x1.4165000000000p+0, 0x1.8756000000000p+0, 0x1.d5c0000000000p+0,
        0x1.1a2c000000000p+1, 0x1.4575000000000p+1, 0x1.77eb000000000p+1, 0x1.ae17800000000p+1,
        0x1.e94f800000000p+1, 0x1.0e88c00000000p+2, 0x1.36e3c00000000p+2, 0x1.670d400000000p+2,
    },
    {
        0x1.1c62d12b9cbecp-1, 0x1.30122250c8f40p-1, 0x1.49e3b080b2e9bp-1, 0x1.69eb11f629af5p-1,
        0x1.847e44488f905p-1, 0x1.a1c5fbc2dd009p-1, 0x1.b7b3525fb7149p-1, 0x1.c8a8d38d1044ap-1,
        0x1.d67eebab83481p-1, 0x1.df35dd200e2d7p-1, 0x1.e664c4df042c5p-1, 0x1.ebd24031a050fp-1,
        0x1.f0077f1f1a6d1p-1, 0x1.f2bbe630415d0p-1, 0x1.f5c6dba574fe5p-1, 0x1.f839e7e3d6bcdp-1,
    },
    {
        0x1.3cd534375b3b9p-1, 0x1.190270645a0b3p-1, 0x1.d6eed34bcf677p-2, 0x1.6b1d1a9b8084dp-2,
        0x1.16c26433708dap-2, 0x1.80b3960a31897p-3, 0x1.0a62b5fb0d087p-3, 0x1.6e2a4df0c8c79p-4,
        0x1.e7059fb623ba5p-5, 0x1.5b9f064e05382p-5, 0x1.e6cb6f5601624p-6, 0x1.588912b41afbap-6,
        0x1.e9d833aaede47p-7, 0x1.7537837f7cbc1p-7, 0x1.fcbff11d37d28p-8, 0x1.53749acc79203p-8,
    },
    {
        -0x1.23ddab916faf2p-1, -0x1.f8deae7f43accp-2, -0x1.9755b1e67953fp-2, -0x1.28937d9768bebp-2,
        -0x1.acb07fc6c32dbp-3, -0x1.0ed72bec1dd9dp-3, -0x1.565e57cd6842dp-4, -0x1.ab194d54ce97dp-5,
        -0x1.fd057986d35e0p-6, -0x1.4ac9ad40bb837p-6, -0x1.a2521d2529f27p-7, -0x1.0b886f30e428cp-7,
        -0x1.57687b8f62f78p-8, -0x1.e1b4fdfe077ffp-9, -0x1.23a06734e8f36p-9, -0x1.56bf02c8fdc8ep-10,
    },
    {
        0x1.b10387a2491b5p-2, 0x1.6e473b0d68c4ep-2, 0x1.1dc55da99732cp-2, 0x1.8b70740ab9018p-3,
        0x1.0ec7877a29dcbp-3, 0x1.3c08f5753123ep-4, 0x1.6fb95d86923b4p-5, 0x1.a3b6fae54fc03p-6,
        0x1.c3ed1caf7c5e5p-7, 0x1.0d0e30e4725d2p-7, 0x1.351cf7d22c129p-8, 0x1.671f6169bf4c7p-9,
        0x1.a2106d86098c8p-10, 0x1.0ec5aa4e08b70p-10, 0x1.24583f0041c84p-11, 0x1.2fa33eff88ed4p-12,
    },
    {
        -0x1.15857ef681e1ap-2, -0x1.cc25cdeb08311p-3, -0x1.5c4244101380fp-3, -0x1.cc13f08c3c0bbp-4,
        -0x1.2be8f117ac2bfp-4, -0x1.4579df24cd203p-5, -0x1.5edbeeb0386f8p-6, -0x1.70c520aa6a3edp-7,
        -0x1.692232083a6f4p-8, -0x1.8bfbadca598c5p-9, -0x1.9f6683a9f77cep-10, -0x1.b85098af4adfep-11,
        -0x1.d2b850bd3fbb5p-12, -0x1.17f1b24d32fa2p-12, -0x1.0e77692538747p-13, -0x1.f2109d5e21c7cp-15,
    },
    {
        0x1.3e8a214765e6bp-3, 0x1.033cb7be42bf3p-3, 0x1.7d928f4f7b473p-4, 0x1.e2fcf00c71af1p-5,
        0x1.2cd620ebe5785p-5, 0x1.312cefcddab6dp-6, 0x1.325fb519c38d4p-7, 0x1.2a162ed937135p-8,
        0x1.0af7715a636f1p-9, 0x1.0ebffa893b35ap-10, 0x1.04797c20b4c02p-11, 0x1.f9c87eff9c0acp-13,
        0x1.e9e03119df74fp-14, 0x1.10d0cfd16a3b4p-14, 0x1.d9412288000a0p-16, 0x1.836d094cff60dp-17,
    },
    {
        -0x1.4e8a240f8e61dp-4, -0x1.0b9c47464a701p-4, -0x1.7fc3502c7068ap-5, -0x1.d2c5d07d129dap-6,
        -0x1.16a259cbb9112p-6, -0x1.095729eb5f073p-7, -0x1.f24ba79990e13p-9, -0x1.c2c2cdf5aae81p-10,
        -0x1.72ef67bf68986p-11, -0x1.5d41784a2de30p-12, -0x1.354fe09eda486p-13, -0x1.1405a5aee4046p-14,
        -0x1.ea1e5d33b0f80p-16, -0x1.fc094e0deffe6p-17, -0x1.8cc3a89594bedp-18, -0x1.219318e7d3e03p-19,
    },
    {
        0x1.46271332b190dp-5, 0x1.00b7b05f09322p-5, 0x1.673cc55e7cf88p-6, 0x1.a4dcb26edf4cep-7,
        0x1.e2bca60856248p-8, 0x1.b1177f6181c77p-9, 0x1.7dba190a03c86p-10, 0x1.4240ac24252efp-11,
        0x1.e94a940993430p-13, 0x1.ad1bd405b12abp-14, 0x1.5f04ffe0f971cp-15, 0x1.20cd185766a40p-16,
        0x1.d76b3f71749d0p-18, 0x1.c7b9f87ff833cp-19, 0x1.4158b3daab63dp-20, 0x1.a33f74bc6ac33p-22,
    },
    {
        -0x1.2a3f4b857b881p-6, -0x1.ce627ca7d9b7fp-7, -0x1.3c1cb8b306a81p-7, -0x1.656cc087c636fp-8,
        -0x1.8ab56a561e524p-9, -0x1.4ea07c8f06754p-10, -0x1.15b5a39be8a76p-11, -0x1.b6fb846b7d3a4p-13,
        -0x1.3488689f1ce9ep-14, -0x1.f9863791c5b17p-16, -0x1.7f18ab01f5356p-17, -0x1.2367d2055570dp-18,
        -0x1.b66d701bdefadp-20, -0x1.8c0b68ffae362p-21, -0x1.f989adb6381c1p-23, -0x1.2776edde608cdp-24,
    },
    {
        0x1.01ce6bcb7bd67p-7, 0x1.89eac7aada62cp-8, 0x1.0773064f342a4p-8, 0x1.1ff48239a0755p-9,
        0x1.32c8111652ee9p-10, 0x1.ecb265227bc9dp-12, 0x1.821bd3837d71ep-13, 0x1.1e89b7cb93d8cp-14,
        0x1.75d50d166d093p-16, 0x1.1f08c198e858ap-17, 0x1.93f864a0b239ap-19, 0x1.1ce7c89d6eeb3p-20,
        0x1.8bd85b46971d7p-22, 0x1.4ee138b9cea2ep-23, 0x1.83e4ce27c4d20p-25, 0x1.9712878d82ea5p-27,
    },
    {
        -0x1.a7ebdc6a1d4b2p-9, -0x1.3fa43f49b2931p-9, -0x1.a2d5240349e91p-10, -0x1.bb7e80e55cd9ep-11,
        -0x1.c8f5520b602b5p-12, -0x1.5d309e64b5fb4p-13, -0x1.0383d13f41471p-14, -0x1.6a0c027d19faep-16,
        -0x1.b86d916c29bd9p-18, -0x1.3cca5dcf5fd51p-19, -0x1.9fa5347883d64p-21, -0x1.10f81d2e9b53bp-22,
        -0x1.5db63c61aef07p-24, -0x1.15bfa6117c0c8p-25, -0x1.26a25864ef48fp-27, -0x1.15a0f90f9401cp-29,
    },
    {
        0x1.4d06b6daa3f12p-10, 0x1.f74ac668a2ee8p-11, 0x1.3680e4a2bf1a0p-11, 0x1.52b3ee2ef40b7p-12,
        0x1.35ce80c0b4681p-13, 0x1.e3b22368ba255p-15, 0x1.4a630e576be8bp-16, 0x1.a9d338f34b1bbp-18,
        0x1.0807aeb8ad259p-19, 0x1.3db5cc723be88p-21, 0x1.9c4521378353ep-23, 0x1.e56318457f3cbp-25,
        0x1.34233d71e4da2p-26, 0x1.a8ba6f86fc370p-28, 0x1.a1144b265d4a3p-30, 0x1.655893370cabap-32,
    },
};

/* sqrt(pi)/2 * 2^(j/16), j = 0 to 15, and what a float lacks of it:
 * python gen_backward.py */
_Alignas(64) const float lucid_backward_f32_power[2][16] = {
    {
        0x1.c5bf8a0000000p-1f, 0x1.d9d65c0000000p-1f, 0x1.eed0e00000000p-1f, 0x1.025c940000000p+0f,
        0x1.0dcce00000000p+0f, 0x1.19bed00000000p+0f, 0x1.2638240000000p+0f, 0x1.333eda0000000p+0f,
        0x1.40d9320000000p+0f, 0x1.4f0db80000000p+0f, 0x1.5de3400000000p+0f, 0x1.6d60e80000000p+0f,
        0x1.7d8e240000000p+0f, 0x1.8e72b80000000p+0f, 0x1.a016c40000000p+0f, 0x1.b282c00000000p+0f,
    },
    {
        -0x1.c962120000000p-26f, -0x1.d722120000000p-27f, -0x1.a801380000000p-26f, 0x1.5f27260000000p-26f,
        -0x1.f4dba80000000p-26f, 0x1.bd24c40000000p-27f, -0x1.c7aab00000000p-28f, -0x1.fb9fbe0000000p-25f,
        -0x1.3b1f4e0000000p-33f, 0x1.c6a3c40000000p-27f, -0x1.bb5aa80000000p-25f, -0x1.ca3c400000000p-26f,
        -0x1.d329e00000000p-25f, -0x1.20a0d00000000p-26f, -0x1.e466040000000p-26f, 0x1.33e5d60000000p-25f,
    },
};

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/32, degree 2, ascending;
 * error of exp(r) below 2^-36.5: python gen_backward.py */
const float lucid_backward_f32_exp[3] = {
    0x1.0000000000000p-1f, 0x1.5556e00000000p-3f, 0x1.55565c0000000p-5f,
};

/* Segment of y in [0.5, 8), by the lowest 2 exponent bits and the upper 4 fraction bits:
 * python gen_backward.py */
_Alignas(64) const uint8_t lucid_backward_f32_segment[64] = {
    10, 10, 11, 11, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15, 15,
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4,
    4, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10,
};

/* G(y) = sqrt(pi) y exp(y^2) erfc(y) on 16 segments, of degree 5 in h = y - centre.
 * Row 0 has the centres, the next ones the coefficients, ascending.  Error below
 * 2^-31.0.  Segments begin at
 * 0.5 0.59375 0.6875 0.8125 0.9375 1.0625 1.1875 1.375 1.5625 1.75 1.9375 2.1875 2.4375 2.75 3.125 3.5
 * and the last ends at 4: python gen_backward.py */
_Alignas(64) const float lucid_backward_f32_g[7][16] = {
    {
        0x1.1a62000000000p-1f, 0x1.495e000000000p-1f, 0x1.838e000000000p-1f, 0x1.bd38000000000p-1f,
        0x1.0053000000000p+0f, 0x1.2117000000000p+0f, 0x1.461d000000000p+0f, 0x1.7706000000000p+0f,
        0x1.aa8f000000000p+0f, 0x1.d7ea000000000p+0f, 0x1.082f800000000p+1f, 0x1.2880000000000p+1f,
        0x1.4d99800000000p+1f, 0x1.7a2a000000000p+1f, 0x1.a5bd000000000p+1f, 0x1.df22800000000p+1f,
    },
    {
        0x1.27664e0000000p-1f, 0x1.407fb60000000p-1f, 0x1.5a7ad00000000p-1f, 0x1.6fc2a40000000p-1f,
        0x1.8435320000000p-1f, 0x1.9479520000000p-1f, 0x1.a385fc0000000p-1f, 0x1.b346ea0000000p-1f,
        0x1.c01c000000000p-1f, 0x1.c90b640000000p-1f, 0x1.d1e23c0000000p-1f, 0x1.d9b6960000000p-1f,
        0x1.e08d3e0000000p-1f, 0x1.e6a8980000000p-1f, 0x1.eb19b60000000p-1f, 0x1.ef67480000000p-1f,
    },
    {
        0x1.28adb80000000p-1f, 0x1.f7a9500000000p-2f, 0x1.9e50620000000p-2f, 0x1.5824300000000p-2f,
        0x1.17a3380000000p-2f, 0x1.cd4f980000000p-3f, 0x1.76e03e0000000p-3f, 0x1.215e4e0000000p-3f,
        0x1.c026ca0000000p-4f, 0x1.6a93c40000000p-4f, 0x1.1ae3700000000p-4f, 0x1.b20c980000000p-5f,
        0x1.475ecc0000000p-5f, 0x1.df86680000000p-6f, 0x1.6a95980000000p-6f, 0x1.0315380000000p-6f,
    },
    {
        -0x1.0d92e60000000p-1f, -0x1.ba005a0000000p-2f, -0x1.5c78040000000p-2f, -0x1.15b44c0000000p-2f,
        -0x1.ae5a980000000p-3f, -0x1.5345160000000p-3f, -0x1.0643f00000000p-3f, -0x1.7bc1540000000p-4f,
        -0x1.1385060000000p-4f, -0x1.a5d0c60000000p-5f, -0x1.33fc140000000p-5f, -0x1.b77bd80000000p-6f,
        -0x1.3245bc0000000p-6f, -0x1.9a46d20000000p-7f, -0x1.1dd5c80000000p-7f, -0x1.7179c60000000p-8f,
    },
    {
        0x1.8b1d940000000p-2f, 0x1.3a19e00000000p-2f, 0x1.dcebc00000000p-3f, 0x1.6e4fd20000000p-3f,
        0x1.1002000000000p-3f, 0x1.9bc9380000000p-4f, 0x1.304d7a0000000p-4f, 0x1.9fb91a0000000p-5f,
        0x1.1c2e0c0000000p-5f, 0x1.9d88760000000p-6f, 0x1.1bfe9a0000000p-6f, 0x1.7ad2540000000p-7f,
        0x1.ea53100000000p-8f, 0x1.2de3540000000p-8f, 0x1.8549740000000p-9f, 0x1.c9331c0000000p-10f,
    },
    {
        -0x1.f562ac0000000p-3f, -0x1.839f6c0000000p-3f, -0x1.1c82280000000p-3f, -0x1.a695e00000000p-4f,
        -0x1.2ddca40000000p-4f, -0x1.b83d280000000p-5f, -0x1.3885500000000p-5f, -0x1.94a4920000000p-6f,
        -0x1.05b2940000000p-6f, -0x1.6b42200000000p-7f, -0x1.d7ca780000000p-8f, -0x1.2746760000000p-8f,
        -0x1.64c6ce0000000p-9f, -0x1.95fae80000000p-10f, -0x1.e5bac80000000p-11f, -0x1.04da060000000p-11f,
    },
    {
        0x1.2103520000000p-3f, 0x1.b0bfc40000000p-4f, 0x1.37a1f20000000p-4f, 0x1.b0c6ae0000000p-5f,
        0x1.2ff9d20000000p-5f, 0x1.afbf220000000p-6f, 0x1.1e088c0000000p-6f, 0x1.63b7520000000p-7f,
        0x1.c3d7900000000p-8f, 0x1.24ba580000000p-8f, 0x1.69a4460000000p-9f, 0x1.ac889e0000000p-10f,
        0x1.ec84340000000p-11f, 0x1.0556040000000p-11f, 0x1.1288b20000000p-12f, 0x1.12fa520000000p-13f,
    },
};
