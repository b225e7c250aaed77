/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "floats"
#include "../entry_exit.h"
