/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/cuda/image/fatbin.c backends/cuda/image/kept_ptx.c backends/cuda/wire/fatbin_format.c core/model/diag.c
// LIBS: -llz4 -lzstd
/* Parses arbitrary bytes as a CUDA image. The result must be a diagnostic, or PTX that ends with a NUL. */
#include <stdint.h>
#include <stdlib.h>

#include "backends/cuda/image/fatbin.h"
#include "core/model/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limit the memory of a run, since a container may declare any size for its entries. */
static int stays_small(void *arg, const struct fatbin_entry *entry)
{
	return entry->plain_size > 16u << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t sms[] = { 75, 90, 120 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (fatbin_walk(data, size, stays_small, NULL, &diag) > 0)
		return -1;
	for (size_t i = 0; i < sizeof(sms) / sizeof(*sms); i++) {
		char *text;
		size_t n;

		gpubpf_diag_init(&diag);
		if (cuda_image_ptx(data, size, sms[i], &text, &n, &diag) < 0) {
			if (!diag.what[0])
				abort();
			continue;
		}
		if (text[n])
			abort();
		free(text);
	}
	return 0;
}
