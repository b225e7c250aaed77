/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "meets"
#include "both.h"
