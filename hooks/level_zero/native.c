/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the IL from which native code was built. An application that caches native code of modules later loads it
 * without IL. When an application gets native code from the driver, the agent stores the IL in the user's cache folder.
 * The key is the native code's hash.
 */
#include "level_zero.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"
#include "hooks/client/cache.h"

#define FOLDER "native"
#define MAGIC 0x316c69657669746eull /* "ntiveil1" */

static void put_constants(struct gpubpf_writer *w, const ze_module_constants_t *c)
{
	gpubpf_put_u32(w, c->numConstants);
	for (uint32_t i = 0; i < c->numConstants; i++) {
		gpubpf_put_u32(w, c->pConstantIds[i]);
		gpubpf_put_bytes(w, c->pConstantValues[i], 8);
	}
}

static void store_il(const struct lz_code *code, const void *native, size_t size)
{
	struct gpubpf_writer w = { 0 };
	char key[65];

	gpubpf_put_u64(&w, MAGIC);
	gpubpf_put_bytes(&w, code->parts[0].flags, strlen(code->parts[0].flags) + 1);
	gpubpf_put_bytes(&w, code->parts[0].data, code->parts[0].size);
	put_constants(&w, &code->parts[0].constants);
	gpubpf_cache_key(native, size, key);
	if (!w.failed)
		gpubpf_cache_put(FOLDER, key, w.data, w.size);
	gpubpf_writer_finish(&w);
}

#define MAX_CONSTANTS 4096

static bool get_constants(struct gpubpf_reader *r, uint32_t n, uint32_t *ids, const void **values)
{
	size_t size = 8;

	for (uint32_t i = 0; i < n && size == 8; i++) {
		ids[i] = gpubpf_get_u32(r);
		values[i] = gpubpf_get_bytes(r, &size);
	}
	return size == 8;
}

static struct lz_code *parse(const void *bytes, size_t size, uint32_t *ids, const void **values)
{
	ze_module_constants_t constants = { .pConstantIds = ids, .pConstantValues = values };
	ze_module_desc_t desc = { .pConstants = &constants };
	struct gpubpf_reader r;
	size_t nflags;

	gpubpf_reader_init(&r, bytes, size);
	if (gpubpf_get_u64(&r) != MAGIC)
		return NULL;
	desc.pBuildFlags = gpubpf_get_bytes(&r, &nflags);
	desc.pInputModule = gpubpf_get_bytes(&r, &desc.inputSize);
	constants.numConstants = gpubpf_get_u32(&r);
	if (constants.numConstants > MAX_CONSTANTS || !get_constants(&r, constants.numConstants, ids, values) ||
	    !gpubpf_reader_done(&r) || !nflags || desc.pBuildFlags[nflags - 1])
		return NULL;
	return lz_code_new(&desc);
}

struct lz_code *lz_native_parse(const void *bytes, size_t size)
{
	uint32_t *ids = malloc(MAX_CONSTANTS * sizeof(*ids));
	const void **values = malloc(MAX_CONSTANTS * sizeof(*values));
	struct lz_code *code = ids && values ? parse(bytes, size, ids, values) : NULL;

	free(ids);
	free(values);
	return code;
}

struct lz_code *lz_native_code(const void *native, size_t size)
{
	struct lz_code *code;
	char key[65];
	size_t n;
	void *data;

	gpubpf_cache_key(native, size, key);
	if (gpubpf_cache_get(FOLDER, key, GPUBPF_IMAGE_MAX, &data, &n) < 0)
		return NULL;
	code = lz_native_parse(data, n);
	free(data);
	return code;
}

ze_result_t lz_ModuleGetNativeBinary(struct lz_driver *d, ze_module_handle_t module, size_t *size, uint8_t *native)
{
	ze_result_t err = d->next.ModuleGetNativeBinary(module, size, native);
	struct lz_module *m = err || !native || !size ? NULL : gpubpf_records_find(&lz_modules, module);

	if (m && m->code && m->code->nparts == 1)
		store_il(m->code, native, *size);
	return err;
}
