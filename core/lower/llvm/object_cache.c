/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches objects that LLVM compiled for earlier jobs of the worker (core/lower/code_cache.h). A session inserts the
 * same programs into many GPU kernels, and generating code for a small program takes longer than all earlier stages.
 * The key is the module's bitcode with the target, the processor and its features.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitWriter.h>

#include "core/lower/code_cache.h"
#include "low.h"

#define MAX_OBJECTS 32         /* number of objects in the cache; when it is full, the oldest is evicted */
#define MAX_MODULE_BYTES (1u << 20) /* modules with more bytes of bitcode are not cached */

struct object_cache {
	struct {
		struct gpubpf_blob key, made;
	} object[MAX_OBJECTS];
	uint32_t next;
};

static void destroy(void *data)
{
	struct object_cache *cache = data;

	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		free(cache->object[i].key.data);
		free(cache->object[i].made.data);
	}
	free(cache);
}

static struct object_cache *find_cache(const struct low *l)
{
	return gpubpf_cache_data(l->job->cache, sizeof(struct object_cache), destroy);
}

int low_blob_copy(const void *data, size_t size, struct gpubpf_blob *out)
{
	void *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	((char *)copy)[size] = 0; /* a NUL that the size does not count, because the data may be text */
	*out = (struct gpubpf_blob){ copy, size };
	return 0;
}

/* Sets *key to the compilation target and the module's bitcode. Returns false if the module is not cached. */
bool low_object_cache_key(struct low *l, const char *cpu, struct gpubpf_blob *key)
{
	LLVMMemoryBufferRef buf = LLVMWriteBitcodeToMemoryBuffer(l->mod);
	size_t size = LLVMGetBufferSize(buf);
	char *text = NULL;
	FILE *f = find_cache(l) && size <= MAX_MODULE_BYTES ? open_memstream(&text, &key->size) : NULL;

	if (f) {
		fprintf(f, "%s %s %s %d ", l->target->name, cpu ? cpu : "", l->target->features, l->opts->text);
		fwrite(LLVMGetBufferStart(buf), 1, size, f);
		if (fclose(f)) {
			free(text);
			text = NULL;
		}
	}
	LLVMDisposeMemoryBuffer(buf);
	key->data = text;
	return text;
}

bool low_object_cache_find(const struct low *l, const struct gpubpf_blob *key, struct gpubpf_blob *made)
{
	const struct object_cache *cache = find_cache(l);
	bool found = false;

	for (uint32_t i = 0; !found && i < MAX_OBJECTS; i++)
		if (cache->object[i].key.size == key->size && !memcmp(cache->object[i].key.data, key->data, key->size))
			found = !low_blob_copy(cache->object[i].made.data, cache->object[i].made.size, made);
	return found;
}

void low_object_cache_add(const struct low *l, struct gpubpf_blob *key, const struct gpubpf_blob *made)
{
	struct object_cache *cache = find_cache(l);
	struct gpubpf_blob copy;

	if (low_blob_copy(made->data, made->size, &copy) < 0)
		return;
	free(cache->object[cache->next].key.data);
	free(cache->object[cache->next].made.data);
	cache->object[cache->next].key = *key;
	cache->object[cache->next].made = copy;
	cache->next = (cache->next + 1) % MAX_OBJECTS;
	*key = (struct gpubpf_blob){ 0 };
}
