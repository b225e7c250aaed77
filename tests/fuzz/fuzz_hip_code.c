/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/code.c backends/hip/isa.c core/diag.c
// LIBS: -I/usr/lib/llvm-22/include -L/usr/lib/llvm-22/lib -lLLVM-22
/* Any bytes as a kernel's instructions: refused with a reason, or places that a twin replaces, in order, in them. Not
 * of gfx9: LLVM 22 itself dies of some invalid ones there, and the session says so of the image. */
#include <stdlib.h>

#include "backends/hip/code.h"
#include "core/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		const char *name;
		bool wave32;
	} isas[] = { { "gfx1100", false }, { "gfx1100", true }, { "gfx1201", false } };
	struct gpubpf_diag diag;
	struct hip_code code;

	for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
		gpubpf_diag_init(&diag);
		if (hip_code_read(hip_isa_of_name(isas[i].name), isas[i].wave32, data, size, &code, &diag) < 0) {
			if (!diag.what[0])
				abort();
			continue;
		}
		if (code.size > size)
			abort();
		for (uint32_t p = 0; p < code.nplaces; p++)
			if (code.places[p].off + 4 > code.size || (p && code.places[p].off <= code.places[p - 1].off))
				abort();
		hip_code_finish(&code);
	}
	return 0;
}
