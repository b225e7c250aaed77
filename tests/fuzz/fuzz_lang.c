/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: cli/lang/lang.c cli/lang/tree/*.c cli/lang/parse/*.c cli/lang/check/*.c cli/lang/gen/*.c core/model/*.c core/model/text/*.c core/wire/fields.c core/wire/placement.c core/wire/wire.c
// SOURCES: core/load/*.c core/load/*/*.c core/wire/match.c core/wire/glob.c core/wire/name.c maps/*.c maps/host/*.c maps/kinds/*.c core/verify/*.c core/verify/*/*.c
// LIBS: -lgpubpf-bpf -lelf -lz -ljson-c -lnettle
/*
 * Compiles arbitrary bytes as a one-liner. The compiler must refuse them with a position, or make an object that loads.
 * The verifier may refuse the program because of its behaviour, but never because of its encoding.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lang/lang.h"
#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/load/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_ours(enum gpubpf_error code)
{
	return code == GPUBPF_E_BAD_INSN || code == GPUBPF_E_BAD_JUMP || code == GPUBPF_E_UNREACHABLE || code == GPUBPF_E_CFG ||
	       code == GPUBPF_E_UNINIT_REG || code == GPUBPF_E_RELEASED || code == GPUBPF_E_UNINIT_STACK || code == GPUBPF_E_STACK_BOUNDS ||
	       code == GPUBPF_E_MAP_BOUNDS || code == GPUBPF_E_NULL_DEREF || code == GPUBPF_E_NOT_POINTER ||
	       code == GPUBPF_E_REF_LEAK || code == GPUBPF_E_RETURN_VALUE || code == GPUBPF_E_HELPER_ARG;
}

static void verify(const struct gpubpf_unit *unit, struct gpubpf_prog *prog)
{
	struct gpubpf_verify_opts opts = { .max_states = 2000, .max_cost = 100000 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_verify(unit, prog, &opts, &diag) < 0 && is_ours(diag.code)) {
		fprintf(stderr, "%s: %s\n", prog->name, diag.what);
		abort();
	}
}

static void load(const void *object, size_t size)
{
	struct gpubpf_load_image image = { object, size };
	const char *path = "-e";
	struct gpubpf_load_opts opts = { .paths = &path, .npaths = 1, .images = &image };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_load(&opts, &loaded, &diag) < 0) {
		fprintf(stderr, "%s\n", diag.what);
		abort();
	}
	for (uint32_t i = 0; i < loaded->unit.nprogs; i++)
		verify(&loaded->unit, &loaded->unit.progs[i]);
	gpubpf_loaded_destroy(loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* an input may be a test case of the language; then only its program is used */
	static const char head[] = "--- program\n";
	const char *params[] = { "5", "text" };
	char *text = malloc(size + 1);
	struct lang_opts opts = { .name = "-e", .text = text, .size = size, .params = params, .nparams = 2 };
	struct lang *l = NULL;
	const void *object;
	size_t bytes;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (size > sizeof(head) && !memcmp(text, head, sizeof(head) - 1)) {
		char *end = memmem(text, size, "\n--- ", 5);

		opts.text += sizeof(head) - 1;
		opts.size = (end ? (size_t)(end + 1 - text) : size) - (sizeof(head) - 1);
	}
	if (lang_compile(&opts, &l) < 0) {
		if (!l || !lang_why(l)[0])
			abort();
	} else if ((object = lang_object(l, &bytes))) {
		load(object, bytes);
	}
	lang_destroy(l);
	free(text);
	return 0;
}
