/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the fake tool's twins for the fake driver: a twin is the kernel's text with an added line that counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/twin_format.h"
#include "tests/hooks/fake_tool.h"

const uint32_t fake_twin_input_kind = GPUBPF_IMAGE_FATBIN, fake_twin_output_kind = GPUBPF_IMAGE_PTX;

/*
 * For each variable of the source text, declares a variable of the twin, which receives the address of the source's
 * variable. If words is false, writes a line with the name of the source's variable instead.
 */
static void bind(FILE *f, const char *source, bool words)
{
	unsigned n = 0;
	char name[64];

	for (const char *at = source; (at = strstr(at, ".visible .global ")); at++) {
		if (sscanf(at, ".visible .global .align 4 .u32 %63[^ ;=]", name) != 1)
			continue;
		if (words)
			fprintf(f, ".visible .const .align 8 .u64 gpubpf_bind_%u;\n", n++);
		else
			fprintf(f, "//gpubpf-bind %s\n", name);
	}
}

int fake_twin_build(const struct gpubpf_device_caps *caps, const char *source, size_t size, const char *options,
		    char names[][128], const uint32_t *index, uint32_t *nparams, uint32_t n, void **binary,
		    size_t *binary_size)
{
	char entry[160], *text = NULL;
	const char *at, *body, *regs, *end;
	int needs, most, length;
	FILE *f = open_memstream(&text, binary_size);

	snprintf(entry, sizeof(entry), ".entry %s(", names[0]);
	at = strstr(source, entry);
	body = at ? strchr(at, '(') : NULL;
	end = body ? strstr(body, "\n}") : NULL;
	bind(f, source, false);
	if (!end || n != 1) {
		fclose(f);
		free(text);
		return -1;
	}
	fprintf(f, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .align 8 .u64 gpubpf_arena;\n"
		   ".visible .global .align 8 .u64 gpubpf_launch;\n.visible .global .align 8 .u64 gpubpf_pid;\n");
	bind(f, source, true);
	regs = memmem(body, end - body, "//fake twin-regs ", 17);
	needs = regs ? atoi(regs + 17) : 40;
	most = fake_twin_registers && !memmem(body, end - body, "//fake twin-wide", 16) ? fake_twin_registers : 255;
	fprintf(f, "//fake regs %d\n.visible .entry gpubpf_twin_%s%.*s\n//fake count %u\n}\n",
		needs < most ? needs : most, names[0], (int)(end - body), body, index[0]);
	regs = memmem(body, end - body, "//fake twin-flat ", 17);
	length = end - body;
	if (regs)
		fprintf(f, "//fake regs %d\n.visible .entry gpubpf_twin_%s" CUDA_FLAT_SUFFIX "%.*s\n//fake flat %u\n}\n",
			atoi(regs + 17), names[0], length, body, index[0]);
	if (memmem(body, end - body, "//fake twin-broken", 18))
		fprintf(f, "//fake broken\n");
	fclose(f);
	*binary = text;
	return 0;
}
