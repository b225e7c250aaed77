/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the PTX ISA version and the architecture that a module's directives state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

uint32_t ptx_directive_version(const struct ptx_module *m, const struct ptx_node *node)
{
	unsigned major = 0, minor = 0;
	char buf[16] = "";
	uint32_t len = m->tokens[node->name + 1].len;

	memcpy(buf, ptx_token_text(m, node->name + 1), len < sizeof(buf) ? len : sizeof(buf) - 1);
	sscanf(buf, "%u.%u", &major, &minor);
	return major * 100 + minor;
}

uint32_t cuda_ptx_version(const struct ptx_module *m)
{
	uint32_t version = 0;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_DIRECTIVE && ptx_token_is(m, m->nodes[c].name, ".version")) {
			uint32_t stated = ptx_directive_version(m, &m->nodes[c]);

			version = stated > version ? stated : version;
		}
	return version;
}

uint32_t cuda_ptx_target(const struct ptx_module *m)
{
	uint32_t target = PTX_NONE, best = 0;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		uint32_t name = m->nodes[c].name, sm = 0;

		if (m->nodes[c].kind != PTX_DIRECTIVE || !ptx_token_is(m, name, ".target"))
			continue;
		if (m->tokens[name + 1].len > 3)
			sm = strtoul(ptx_token_text(m, name + 1) + 3, NULL, 10);
		if (target == PTX_NONE || sm > best) {
			target = name + 1;
			best = sm;
		}
	}
	return target;
}
