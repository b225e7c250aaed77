/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "loops"
#include "../entry_exit.h"
