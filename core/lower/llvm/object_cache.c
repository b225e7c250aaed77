/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches objects that LLVM compiled in this process. A session inserts the same programs into many kernels, and code
 * generation for a small program takes longer than all earlier stages. The key is the module's bitcode, the processor
 * and its features.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitWriter.h>

#include "low.h"

#define MAX_OBJECTS 32         /* maximum objects; the oldest is evicted */
#define MAX_MODULE_BYTES (1u << 20) /* modules with more bytes are not cached */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct gpubpf_blob key, made;
} cache[MAX_OBJECTS];
static uint32_t next;

int low_blob_copy(const void *data, size_t size, struct gpubpf_blob *out)
{
	void *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	((char *)copy)[size] = 0; /* a NUL after text; the size does not count it */
	*out = (struct gpubpf_blob){ copy, size };
	return 0;
}

/* Returns the module's key: the compilation target and the bitcode. false: the module is not cached. */
bool low_object_cache_key(struct low *l, const char *cpu, struct gpubpf_blob *key)
{
	LLVMMemoryBufferRef buf = LLVMWriteBitcodeToMemoryBuffer(l->mod);
	size_t size = LLVMGetBufferSize(buf);
	char *text = NULL;
	FILE *f = size <= MAX_MODULE_BYTES ? open_memstream(&text, &key->size) : NULL;

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

bool low_object_cache_find(const struct gpubpf_blob *key, struct gpubpf_blob *made)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; !found && i < MAX_OBJECTS; i++)
		if (cache[i].key.size == key->size && !memcmp(cache[i].key.data, key->data, key->size))
			found = !low_blob_copy(cache[i].made.data, cache[i].made.size, made);
	pthread_mutex_unlock(&lock);
	return found;
}

void low_object_cache_add(struct gpubpf_blob *key, const struct gpubpf_blob *made)
{
	struct gpubpf_blob copy;

	if (low_blob_copy(made->data, made->size, &copy) < 0)
		return;
	pthread_mutex_lock(&lock);
	free(cache[next].key.data);
	free(cache[next].made.data);
	cache[next].key = *key;
	cache[next].made = copy;
	next = (next + 1) % MAX_OBJECTS;
	pthread_mutex_unlock(&lock);
	*key = (struct gpubpf_blob){ 0 };
}
