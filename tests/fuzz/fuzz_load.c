/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: core/load/*.c core/load/*/*.c core/wire/match.c core/wire/glob.c core/wire/name.c core/model/*.c core/model/text/*.c core/wire/fields.c core/wire/placement.c core/wire/wire.c maps/*.c maps/host/*.c maps/kinds/*.c core/verify/*.c core/verify/*/*.c
// LIBS: -lgpubpf-bpf -lelf -lz -ljson-c -lnettle
/*
 * Loads arbitrary bytes as an object. The loader must accept them, or refuse them with a diagnostic. The verifier must
 * do the same with the programs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <json-c/json.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/load/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Print the content of a map, or zeros, by its BTF type. This tests core/load/typed.c. */
static void show(const struct gpubpf_loaded *loaded, const struct gpubpf_map *map)
{
	const struct btf *btf = loaded->objects[map->object].btf;
	size_t size = map->value_size < 65536 ? map->value_size : 65536;
	void *zeros = calloc(1, size + 1);
	const void *value = map->init ? map->init : zeros;
	char text[256];

	gpubpf_typed_text(btf, map->btf_value, NULL, value, size, text, sizeof(text));
	json_object_put(gpubpf_typed_json(btf, map->btf_value, NULL, value, size));
	free(zeros);
}

static void verify(const struct gpubpf_unit *unit, struct gpubpf_prog *prog)
{
	struct gpubpf_verify_opts opts = { .max_states = 2000 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_verify(unit, prog, &opts, &diag) < 0 && (diag.code == GPUBPF_OK || !diag.what[0]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpubpf_load_opts opts = { .npaths = 1, .all_gpu = true };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;
	char path[64];
	int fd = memfd_create("object", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opts.paths = (const char *const[]){ path };
	gpubpf_diag_init(&diag);
	if (gpubpf_load(&opts, &loaded, &diag) < 0) {
		if (diag.code == GPUBPF_OK || !diag.what[0])
			abort(); /* refused without a reason */
	} else {
		for (uint32_t i = 0; i < loaded->unit.nmaps; i++)
			show(loaded, &loaded->unit.maps[i]);
		for (uint32_t i = 0; i < loaded->unit.nprogs; i++)
			verify(&loaded->unit, &loaded->unit.progs[i]);
		gpubpf_loaded_destroy(loaded);
	}
	close(fd);
	return 0;
}
