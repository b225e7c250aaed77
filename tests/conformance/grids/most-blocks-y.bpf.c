/* SPDX-License-Identifier: Apache-2.0 */
/* As many blocks in y as the device takes, 65535 at most. */
#include "once.h"

EXPECT("launch 1,MOST,1 1,1,1");
