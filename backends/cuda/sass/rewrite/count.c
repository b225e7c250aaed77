/* SPDX-License-Identifier: Apache-2.0 */
#include "count.h"

#include <errno.h>
#include <stdlib.h>

int sass_count_probe(const struct sass_arch *arch, bool end, struct sass_probe *probe)
{
	struct sass_insn *insns = calloc(SASS_COUNT_MAX_INSNS, sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	*probe = (struct sass_probe){ .insns = insns,
				      .n = end ? sass_count_end(arch, 0, insns) : sass_count_begin(arch, 0, insns) };
	sass_probe_update_usage(probe);
	return 0;
}
