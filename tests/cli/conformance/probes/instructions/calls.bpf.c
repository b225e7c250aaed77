/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "calls"
#include "../entry_exit.h"
