/* What metal-cpp uses of Apple's header of this name.  SPDX-License-Identifier: MIT */
#ifndef LUCID_STUB_IOSURFACEREF_H
#define LUCID_STUB_IOSURFACEREF_H

typedef struct __IOSurface *IOSurfaceRef;

#endif
