/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "plain"
#include "entry_exit.h"
