/* SPDX-License-Identifier: Apache-2.0 */
/* The code that counts a block's lanes (backends/cuda/sass/isa/lane_count.h) as a probe. */
#ifndef GPUBPF_SASS_COUNT_H
#define GPUBPF_SASS_COUNT_H

#include "backends/cuda/sass/isa/lane_count.h"
#include "backends/cuda/sass/probe/probe.h"

/* Makes a probe of the counting code: of the code where lanes leave if `end`, else of the code at the entry. Returns
 * 0 or -ENOMEM. */
int sass_count_probe(const struct sass_arch *arch, bool end, struct sass_probe *probe);

#endif
