/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL "early"
#include "blocks_grid.h"
