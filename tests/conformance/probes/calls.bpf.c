/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "calls"
#include "both.h"
