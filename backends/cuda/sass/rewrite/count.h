/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a probe of the code that counts the lanes of a block (backends/cuda/sass/isa/lane_count.h). */
#ifndef GPUBPF_SASS_COUNT_H
#define GPUBPF_SASS_COUNT_H

#include "backends/cuda/sass/isa/lane_count.h"
#include "backends/cuda/sass/probe/probe.h"

/* Makes a probe of counting code. If `end` is true, this is the code for lanes that leave the kernel; otherwise it is
 * the code for the entry. Returns 0 or -ENOMEM. */
int sass_count_probe(const struct sass_arch *arch, bool end, struct sass_probe *probe);

#endif
