/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "loops"
#include "both.h"
