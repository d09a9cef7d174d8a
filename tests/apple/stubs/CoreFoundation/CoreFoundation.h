/* What metal-cpp uses of Apple's header of this name.  SPDX-License-Identifier: MIT */
#ifndef LUCID_STUB_COREFOUNDATION_H
#define LUCID_STUB_COREFOUNDATION_H

typedef double CFTimeInterval;

#endif
