/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "meets"
#include "../entry_exit.h"
