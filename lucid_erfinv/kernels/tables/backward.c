/* Tables of the float64 and float32 gradient kernels, written by gen_backward.py;
 * do not edit.  SPDX-License-Identifier: MIT */
#include "backward.h"

/* sqrt(pi)/2 * 2^(j/16), j = 0 to 15, rounded, and the logarithms of the quotients:
 * python gen_backward.py */
_Alignas(64) const double lucid_backward_f64_power[2][16] = {
    {
        0x1.c5bf891b4ef6bp-1, 0x1.d9d65b8a377b5p-1, 0x1.eed0df2bff640p-1, 0x1.025c9457c9c96p+0,
        0x1.0dccdf82c9163p+0, 0x1.19bed037a4989p+0, 0x1.263823e385551p+0, 0x1.333ed90230211p+0,
        0x1.40d931ff62706p+0, 0x1.4f0db838d478ap+0, 0x1.5de33f2252abfp+0, 0x1.6d60e78d70efdp+0,
        0x1.7d8e23166b105p+0, 0x1.8e72b7b7d7cc2p+0, 0x1.a016c386e67f1p+0, 0x1.b282c099f2eafp+0,
    },
    {
        -0x1.8ef2d089427b9p-55, -0x1.4fba833a9d3ecp-56, -0x1.7fc1ff1c93fa9p-55, 0x1.0adeefaed6968p-55,
        0x1.0a03b74507c46p-54, -0x1.ba36fbc850809p-54, -0x1.f36119c864d29p-61, -0x1.5ecdc62a6d994p-54,
        -0x1.5135657ac0d8cp-54, -0x1.8c5d5a78f1b6fp-55, -0x1.c7441797fc06ap-55, 0x1.168284ea57e51p-55,
        0x1.8cc7d4233b907p-55, 0x1.21e0c5ee6359dp-55, 0x1.98bba72a310b0p-55, -0x1.773fe5d442986p-55,
    },
};

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/32, degree 5, ascending;
 * error of exp(r) below 2^-64.4: python gen_backward.py */
const double lucid_backward_f64_exp[6] = {
    0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.55555554e8da4p-5, 0x1.11111110e0da6p-7,
    0x1.6c17ede2c7d1fp-10, 0x1.a01b0cb432eb1p-13,
};

/* Segment of y in [0.5, 8), by the lowest 2 exponent bits and upper 4 fraction bits:
 * python gen_backward.py */
_Alignas(64) const uint8_t lucid_backward_f64_segment[64] = {
    9, 10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 12, 12, 13, 13,
    13, 13, 14, 14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6,
    7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9,
};

/* G(y) = sqrt(pi) y exp(y^2) erfc(y) on 16 segments, degree 12 in y - c.
 * Row 0 has the centres c, the next ones the coefficients, ascending.  Error below
 * 2^-60.3.  Segments begin at
 * 0.5 0.53125 0.59375 0.65625 0.71875 0.8125 0.90625 1 1.3125 1.6875 2.125 2.625 3.125 3.75 4.5 5.25
 * and the last ends at 6: python gen_backward.py */
_Alignas(64) const double lucid_backward_f64_g[14][16] = {
    {
        0x1.07fe000000000p-1, 0x1.20ae000000000p-1, 0x1.41e6000000000p-1, 0x1.6124000000000p-1,
        0x1.89a6000000000p-1, 0x1.b746000000000p-1, 0x1.e594000000000p-1, 0x1.2c1f000000000p+0,
        0x1.7df1000000000p+0, 0x1.e418000000000p+0, 0x1.2fb2000000000p+1, 0x1.7377000000000p+1,
        0x1.bcf6000000000p+1, 0x1.0823400000000p+2, 0x1.36f5800000000p+2, 0x1.67ff800000000p+2,
    },
    {
        0x1.1c62d12b9cbecp-1, 0x1.2b0208a69f7a3p-1, 0x1.3cc71da5e1972p-1, 0x1.4bbb164b580f2p-1,
        0x1.5cebba08dfa9ap-1, 0x1.6dbe4dc2841f5p-1, 0x1.7c81152355faep-1, 0x1.994a3e05b56e7p-1,
        0x1.b532a1372a63ap-1, 0x1.cb2478ebc578bp-1, 0x1.db32211b50d5ap-1, 0x1.e5db3b8b19bbcp-1,
        0x1.ed0489a703681p-1, 0x1.f221be716f118p-1, 0x1.f5c7f5c17fc20p-1, 0x1.f843e81d41c77p-1,
    },
    {
        0x1.3cd534375b3b9p-1, 0x1.2222f511e8db5p-1, 0x1.02613b9150566p-1, 0x1.d09246b87957ap-2,
        0x1.961e990f4109dp-2, 0x1.5eaa5d5f9843cp-2, 0x1.2f93e93963d8ap-2, 0x1.b12f48fc2eef8p-3,
        0x1.175472c95875ep-3, 0x1.573105354af4dp-4, 0x1.9a377049be653p-5, 0x1.f5a212a4a36d1p-6,
        0x1.3b3121836cf2ep-6, 0x1.8e56db016a646p-7, 0x1.fc6f180ea0b1dp-8, 0x1.50ef1ab30023fp-8,
    },
    {
        -0x1.23ddab916faf2p-1, -0x1.0665aaf764fa2p-1, -0x1.c7ff7a5bbf590p-2, -0x1.90a622c777221p-2,
        -0x1.5412ef74abfb6p-2, -0x1.1c2bc49bb462ep-2, -0x1.dc249c88c0d1ep-3, -0x1.39d63190f7019p-3,
        -0x1.6b56a1e1e95f9p-4, -0x1.897f2da4d3817p-5, -0x1.98e4575e5c179p-6, -0x1.b2d5fd0614a18p-7,
        -0x1.dcb59e4b6de6fp-8, -0x1.063e341801317p-8, -0x1.23639fa6370d8p-9, -0x1.536639b634af4p-10,
    },
    {
        0x1.b10387a2491b5p-2, 0x1.7f02c3d8cde15p-2, 0x1.45a21f264d8dep-2, 0x1.1858779d29917p-2,
        0x1.cf9ece32eba0bp-3, 0x1.78418eaaad41ap-3, 0x1.321b9c8a40e79p-3, 0x1.77cd389b308b5p-4,
        0x1.8a89d12b3a27dp-5, 0x1.7ca24c8aa2829p-6, 0x1.5b56e60328d9ep-7, 0x1.43f7a226be752p-8,
        0x1.37fb7e98e9cbdp-9, 0x1.2c896fa6c48abp-10, 0x1.240d474100172p-11, 0x1.2bfb5ba41ff58p-12,
    },
    {
        -0x1.15857ef681e1ap-2, -0x1.e3c60fce8ac8fp-3, -0x1.9344e17427f7cp-3, -0x1.54d62459aff7bp-3,
        -0x1.1334b9ba17ca4p-3, -0x1.b2fa658008242p-4, -0x1.588bd79ccaa5bp-4, -0x1.8c53d952dff04p-5,
        -0x1.7c447cf9d430cp-6, -0x1.498c9c74dddcap-7, -0x1.0a462fa848fbfp-8, -0x1.b6c60fb666c31p-10,
        -0x1.75635f49ae708p-11, -0x1.3c894325f91a4p-12, -0x1.0e256ec899a45p-13, -0x1.eaf6a11d21104p-15,
    },
    {
        0x1.3e8a214765e6bp-3, 0x1.11e7a35dc8937p-3, 0x1.c06f9210ec84cp-4, 0x1.749fa655363bcp-4,
        0x1.26590c1346575p-4, 0x1.c5f561ec6e1b3p-5, 0x1.5ecd928c3a60cp-5, 0x1.7be5708c43d79p-6,
        0x1.4f33b38dbe0c4p-7, 0x1.06ba684ab481ep-8, 0x1.7a87b42b3cd4cp-10, 0x1.1530241033b38p-11,
        0x1.a311df2a29000p-13, 0x1.3a1102a530e6cp-14, 0x1.d89c336a1f061p-16, 0x1.7d10334fb8e2ep-17,
    },
    {
        -0x1.4e8a240f8e2aep-4, -0x1.1c0fedb3da1d3p-4, -0x1.c9461431f7111p-5, -0x1.75ffc79fde9b7p-5,
        -0x1.21752befce0cbp-5, -0x1.b45064cb1d402p-6, -0x1.497963f38a7b1p-6, -0x1.5135d6f0366e5p-7,
        -0x1.1305e8dfd7a5dp-8, -0x1.8822ae183b8e9p-10, -0x1.faad6b1ff014bp-12, -0x1.4b846b99d1068p-13,
        -0x1.bf4aa8246a02ap-15, -0x1.2990adb6695a4p-16, -0x1.8c27ce134d074p-18, -0x1.1c34e4d1c6d64p-19,
    },
    {
        0x1.46271332b20a6p-5, 0x1.11af6c9c28f80p-5, 0x1.b1a22db8a3656p-6, 0x1.5d6d5ada8c733p-6,
        0x1.094b23379895cp-6, 0x1.875ed7da97d36p-7, 0x1.212ea219ba31bp-7, 0x1.18a07069db1f0p-8,
        0x1.a8ee69d3caa29p-10, 0x1.14e14a7c50ee6p-11, 0x1.42781f537f36ep-13, 0x1.7acf356d13802p-15,
        0x1.ca026ea8c1fe6p-17, 0x1.0f7b7dfab2075p-18, 0x1.40ccca6534229p-20, 0x1.9a9c1e27dc505p-22,
    },
    {
        -0x1.2a3f4b9ff567bp-6, -0x1.eef94b0d68fc5p-7, -0x1.8248beea3d6a9p-7, -0x1.32ec3b068fca2p-7,
        -0x1.c9a5eb832a6bbp-8, -0x1.4ac15b6bf9827p-8, -0x1.ded3329453491p-9, -0x1.b9c66478d9389p-10,
        -0x1.37a2481faf188p-11, -0x1.74bb226e97071p-13, -0x1.8905e918ec0a4p-15, -0x1.a02d8fc53961cp-17,
        -0x1.c49b353a0f7ccp-19, -0x1.dfb312cdd6c71p-21, -0x1.f8a1169929414p-23, -0x1.20cb07b2d564ap-24,
    },
    {
        0x1.01ce6baa26887p-7, 0x1.a755c15d5134ap-8, 0x1.45b21dc2b44bbp-8, 0x1.feaebf0be3b34p-9,
        0x1.76345db81c20bp-9, 0x1.093fb4da84d71p-9, 0x1.78890a4457e0bp-10, 0x1.4b105dda8430cp-11,
        0x1.b48e8ede50393p-13, 0x1.e0f98edb627a2p-15, 0x1.ccf3f083bf5c6p-17, 0x1.b9a5fce109a21p-19,
        0x1.b17a1ceb52d67p-21, 0x1.9bfcce79d1e71p-23, 0x1.82eeb68fbe1f7p-25, 0x1.8cf0a91ca4d9dp-27,
    },
    {
        -0x1.a7e017f4f7689p-9, -0x1.58802d4b6b2d2p-9, -0x1.0574850ce4df7p-9, -0x1.94bf063353f71p-10,
        -0x1.23b67bbee8cadp-10, -0x1.95f429d0158cap-11, -0x1.1ac8d2260d873p-11, -0x1.da9fdc6cced5ap-13,
        -0x1.258cbef8c2377p-14, -0x1.2af7f512d1378p-16, -0x1.0535e2d6de511p-18, -0x1.c5f1df8c617a1p-21,
        -0x1.931bcfa9226f9p-23, -0x1.59111a851a565p-25, -0x1.223ac1e65bd66p-27, -0x1.0b4ca83bbd172p-29,
    },
    {
        0x1.4d0d4f4fc5f21p-10, 0x1.0c251681f78bdp-10, 0x1.91acaf373c6e7p-11, 0x1.3324130534347p-11,
        0x1.b3f4664fcd2c5p-12, 0x1.29ff59557100ap-12, 0x1.97aa9f438474ep-13, 0x1.49561b0bc087dp-14,
        0x1.800806de1f32dp-16, 0x1.6ab775e8ef1dap-18, 0x1.22ecde9cbf6fbp-20, 0x1.ca32ddfba02cep-23,
        0x1.71fd48b619a13p-25, 0x1.1fb80d7980990p-27, 0x1.b03228b6dfe29p-30, 0x1.65b1c5b560e62p-32,
    },
    {
        -0x1.f616f4f7ec5a9p-12, -0x1.92feb30fcb897p-12, -0x1.2d60f61348e27p-12, -0x1.c44b17a22670bp-13,
        -0x1.3d80854aa159cp-13, -0x1.a1e06b8b6f169p-14, -0x1.14fb4acf442abp-14, -0x1.d4f79e51502fdp-16,
        -0x1.d193dfc8bb7bbp-18, -0x1.8f2d68aef1760p-20, -0x1.33bf5d3ca5d20p-22, -0x1.e6e76126db8eep-25,
        -0x1.701d2a1206d42p-27, -0x1.cf97c6c61969bp-30, -0x1.2c380d572c158p-32, -0x1.d0e9560cb4a5fp-35,
    },
};

/* sqrt(pi)/2 * 2^(j/16), j = 0 to 15, rounded, and the logarithms of the quotients:
 * python gen_backward.py */
_Alignas(64) const float lucid_backward_f32_power[2][16] = {
    {
        0x1.c5bf8a0000000p-1f, 0x1.d9d65c0000000p-1f, 0x1.eed0e00000000p-1f, 0x1.025c940000000p+0f,
        0x1.0dcce00000000p+0f, 0x1.19bed00000000p+0f, 0x1.2638240000000p+0f, 0x1.333eda0000000p+0f,
        0x1.40d9320000000p+0f, 0x1.4f0db80000000p+0f, 0x1.5de3400000000p+0f, 0x1.6d60e80000000p+0f,
        0x1.7d8e240000000p+0f, 0x1.8e72b80000000p+0f, 0x1.a016c40000000p+0f, 0x1.b282c00000000p+0f,
    },
    {
        -0x1.020d000000000p-25f, -0x1.fd13f60000000p-27f, -0x1.b6bace0000000p-26f, 0x1.5bf16e0000000p-26f,
        -0x1.db3d380000000p-26f, 0x1.94779c0000000p-27f, -0x1.8c79ae0000000p-28f, -0x1.a6f5140000000p-25f,
        -0x1.f6dcc60000000p-34f, 0x1.5b5ee00000000p-27f, -0x1.4462ce0000000p-25f, -0x1.410f3c0000000p-26f,
        -0x1.39701a0000000p-25f, -0x1.72e20a0000000p-27f, -0x1.2a07160000000p-26f, 0x1.6aceac0000000p-26f,
    },
};

/* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/32, degree 2, ascending;
 * error of exp(r) below 2^-36.5: python gen_backward.py */
const float lucid_backward_f32_exp[3] = {
    0x1.0000000000000p-1f, 0x1.5556e00000000p-3f, 0x1.55565c0000000p-5f,
};

/* Segment of y in [0.5, 8), by the lowest 2 exponent bits and upper 4 fraction bits:
 * python gen_backward.py */
_Alignas(64) const uint8_t lucid_backward_f32_segment[64] = {
    11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15,
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6,
    7, 7, 7, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 10,
};

/* G(y) = sqrt(pi) y exp(y^2) erfc(y) on 16 segments, degree 5 in y - c.
 * Row 0 has the centres c, the next ones the coefficients, ascending.  Error below
 * 2^-29.9.  Segments begin at
 * 0.5 0.53125 0.59375 0.65625 0.71875 0.8125 0.90625 1 1.1875 1.4375 1.6875 2 2.25 2.625 3 3.5
 * and the last ends at 4: python gen_backward.py */
_Alignas(64) const float lucid_backward_f32_g[7][16] = {
    {
        0x1.0800000000000p-1f, 0x1.1f58000000000p-1f, 0x1.415a000000000p-1f, 0x1.6122000000000p-1f,
        0x1.8736000000000p-1f, 0x1.bad2000000000p-1f, 0x1.eab4000000000p-1f, 0x1.1ab5000000000p+0f,
        0x1.4e28000000000p+0f, 0x1.9101000000000p+0f, 0x1.d5b5000000000p+0f, 0x1.0f3d000000000p+1f,
        0x1.3557000000000p+1f, 0x1.6946800000000p+1f, 0x1.9f36000000000p+1f, 0x1.df22800000000p+1f,
    },
    {
        0x1.1c640e0000000p-1f, 0x1.2a3fc60000000p-1f, 0x1.3c80660000000p-1f, 0x1.4bba2e0000000p-1f,
        0x1.5bf3420000000p-1f, 0x1.6ef3820000000p-1f, 0x1.7e03020000000p-1f, 0x1.918b800000000p-1f,
        0x1.a6677e0000000p-1f, 0x1.ba27dc0000000p-1f, 0x1.c8a6dc0000000p-1f, 0x1.d3c66e0000000p-1f,
        0x1.dc4d520000000p-1f, 0x1.e4906a0000000p-1f, 0x1.ea82c40000000p-1f, 0x1.ef67480000000p-1f,
    },
    {
        0x1.3cd2ec0000000p-1f, 0x1.2382820000000p-1f, 0x1.02de100000000p-1f, 0x1.d095680000000p-2f,
        0x1.995f940000000p-2f, 0x1.5ac1580000000p-2f, 0x1.2adb7c0000000p-2f, 0x1.de9eaa0000000p-3f,
        0x1.66d65a0000000p-3f, 0x1.fbae100000000p-4f, 0x1.6e3ca60000000p-4f, 0x1.0a8bca0000000p-4f,
        0x1.88ae3a0000000p-5f, 0x1.0cec2e0000000p-5f, 0x1.798c5e0000000p-6f, 0x1.0315380000000p-6f,
    },
    {
        -0x1.23db220000000p-1f, -0x1.07e6b00000000p-1f, -0x1.c90af20000000p-2f, -0x1.90a96a0000000p-2f,
        -0x1.5767460000000p-2f, -0x1.184ad20000000p-2f, -0x1.d30dac0000000p-3f, -0x1.6316980000000p-3f,
        -0x1.f0bfb20000000p-4f, -0x1.4244200000000p-4f, -0x1.ab33380000000p-5f, -0x1.1d8c080000000p-5f,
        -0x1.82ab620000000p-6f, -0x1.dbb1240000000p-7f, -0x1.2d33b40000000p-7f, -0x1.7179c60000000p-8f,
    },
    {
        0x1.b0ff320000000p-2f, 0x1.818b940000000p-2f, 0x1.467ec20000000p-2f, 0x1.185afa0000000p-2f,
        0x1.d4e55e0000000p-3f, 0x1.72479e0000000p-3f, 0x1.2b4b660000000p-3f, 0x1.b25d9a0000000p-4f,
        0x1.1d6b360000000p-4f, 0x1.5645680000000p-5f, 0x1.a3df160000000p-6f, 0x1.0367940000000p-6f,
        0x1.44cdfe0000000p-7f, 0x1.692c140000000p-8f, 0x1.9ee3a20000000p-9f, 0x1.c9331c0000000p-10f,
    },
    {
        -0x1.158a3a0000000p-2f, -0x1.e7915c0000000p-3f, -0x1.949ffc0000000p-3f, -0x1.54fb280000000p-3f,
        -0x1.16f92c0000000p-3f, -0x1.ab7fa40000000p-4f, -0x1.501ef80000000p-4f, -0x1.d463020000000p-5f,
        -0x1.231a980000000p-5f, -0x1.44892c0000000p-6f, -0x1.72e2d00000000p-7f, -0x1.a8dd220000000p-8f,
        -0x1.ef3e6a0000000p-9f, -0x1.f49c3a0000000p-10f, -0x1.06aa560000000p-10f, -0x1.04da060000000p-11f,
    },
    {
        0x1.3e8dda0000000p-3f, 0x1.1323b00000000p-3f, 0x1.c5b6fa0000000p-4f, 0x1.7742e60000000p-4f,
        0x1.2961180000000p-4f, 0x1.c46d1e0000000p-5f, 0x1.5a65620000000p-5f, 0x1.d6809c0000000p-6f,
        0x1.0852200000000p-6f, 0x1.1b34580000000p-7f, 0x1.25a74c0000000p-8f, 0x1.3c67420000000p-9f,
        0x1.4e6d0c0000000p-10f, 0x1.47855a0000000p-11f, 0x1.318e9e0000000p-12f, 0x1.12fa520000000p-13f,
    },
};
