/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "early"
#include "both.h"
