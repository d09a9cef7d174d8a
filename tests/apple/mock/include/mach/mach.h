/* What metal-cpp uses of Apple's header of this name.  SPDX-License-Identifier: MIT */
#ifndef LUCID_MOCK_MACH_H
#define LUCID_MOCK_MACH_H

typedef int kern_return_t;
typedef unsigned task_id_token_t;

#endif
