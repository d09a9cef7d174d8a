/* What metal-cpp uses of Apple's header of this name.  SPDX-License-Identifier: MIT */
#ifndef LUCID_MOCK_TARGETCONDITIONALS_H
#define LUCID_MOCK_TARGETCONDITIONALS_H

#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0

#endif
