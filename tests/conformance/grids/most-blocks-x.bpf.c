/* SPDX-License-Identifier: Apache-2.0 */
/* As many blocks in x as the device takes, 65535 at most. */
#include "once.h"

EXPECT("launch MOST,1,1 1,1,1");
