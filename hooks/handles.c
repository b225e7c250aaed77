/* SPDX-License-Identifier: Apache-2.0 */
#include "handles.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"
#include "core/wire/files/open_file.h"

#define DEAD 0x80000000u
#define COPY_MAX (64u << 20) /* limit of copied images in bytes; larger images must be in read-only segments */

/*
 * Arguments and results of find_object(), which checks whether [from, to) is in a read-only segment of a loaded
 * executable or library. If so, the bytes do not change while that file is loaded.
 */
struct search {
	uintptr_t from, to;
	bool found;
	uintptr_t object;
	uint64_t name_hash;
};

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; name && *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	return h;
}

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && !(info->dlpi_phdr[i].p_flags & PF_W) && s->from >= at &&
		    s->to <= at + info->dlpi_phdr[i].p_memsz)
			s->found = true;
	}
	if (s->found) {
		s->object = info->dlpi_addr;
		s->name_hash = hash_of(info->dlpi_name);
	}
	return s->found;
}

void gpubpf_kept_init(struct gpubpf_kept *kept, const void *data, size_t size)
{
	struct search s = { (uintptr_t)data, (uintptr_t)data + size };
	void *copy;

	*kept = (struct gpubpf_kept){ .data = data, .size = size };
	if (!data)
		kept->why = "its image has an unknown format";
	if (!data)
		return;
	if (dl_iterate_phdr(find_object, &s)) {
		kept->object = s.object;
		kept->name_hash = s.name_hash;
		return;
	}
	copy = size <= COPY_MAX ? malloc(size) : NULL;
	kept->data = copy;
	kept->owned = copy;
	if (copy)
		memcpy(copy, data, size);
	else
		kept->why = "its image is larger than 64 MiB, and gpubpf cannot copy it";
}

void gpubpf_kept_init_file(struct gpubpf_kept *kept, const char *path)
{
	FILE *file = gpubpf_fopen_regular(path);
	char *data = malloc(COPY_MAX + 1);
	size_t n = file && data ? fread(data, 1, COPY_MAX, file) : 0;
	char *fit;

	*kept = (struct gpubpf_kept){ .size = n };
	if (file)
		fclose(file);
	if (!n || n == COPY_MAX) {
		free(data);
		kept->why = "its file cannot be read, or has 64 MiB or more";
		return;
	}
	data[n] = 0;
	fit = realloc(data, n + 1);
	kept->data = fit ? fit : data;
	kept->owned = true;
}

void gpubpf_kept_copy(struct gpubpf_kept *kept, const struct gpubpf_kept *of)
{
	if (of->owned)
		gpubpf_kept_init(kept, of->data, of->size);
	else
		*kept = *of;
}

void gpubpf_kept_finish(struct gpubpf_kept *kept)
{
	if (kept->owned)
		free((void *)kept->data);
	*kept = (struct gpubpf_kept){ .why = "its module was unloaded by the application" };
}

/*
 * Returns true if the bytes are still loaded. The caller reads them after dl_iterate_phdr() has released the dynamic
 * linker's lock. If another thread forked while that lock is held, the child could not load libraries.
 */
static bool is_loaded(const struct gpubpf_kept *kept)
{
	struct search s = { (uintptr_t)kept->data, (uintptr_t)kept->data + kept->size };

	return kept->owned ||
	       (dl_iterate_phdr(find_object, &s) && s.object == kept->object && s.name_hash == kept->name_hash);
}

const char *gpubpf_kept_read(const struct gpubpf_kept *kept, void (*read)(const struct gpubpf_kept *kept, void *arg),
			     void *arg)
{
	if (!kept->data)
		return kept->why;
	if (!is_loaded(kept))
		return "the library that contains its image was unloaded";
	read(kept, arg);
	return NULL;
}

static size_t bucket(const void *handle)
{
	return ((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 54;
}

struct gpubpf_handle *gpubpf_handles_find(struct gpubpf_handles *handles, const void *handle)
{
	struct gpubpf_handle *r;

	if (!handle)
		return NULL; /* the loop would find a dead record, since dead records have the handle NULL */
	r = atomic_load_explicit(&handles->bucket[bucket(handle)], memory_order_acquire);
	while (r && atomic_load_explicit(&r->handle, memory_order_relaxed) != handle)
		r = r->next;
	return r;
}

void gpubpf_handles_add(struct gpubpf_handles *handles, struct gpubpf_handle *record)
{
	_Atomic(struct gpubpf_handle *) *head = &handles->bucket[bucket(record->handle)];

	pthread_mutex_lock(&handles->lock);
	record->next = *head;
	atomic_store_explicit(head, record, memory_order_release);
	pthread_mutex_unlock(&handles->lock);
}

void gpubpf_handles_each(struct gpubpf_handles *handles, void (*fn)(struct gpubpf_handle *record, void *arg), void *arg)
{
	for (size_t i = 0; i < GPUBPF_HANDLE_BUCKETS; i++) {
		struct gpubpf_handle *r = atomic_load_explicit(&handles->bucket[i], memory_order_acquire);

		for (; r; r = r->next)
			fn(r, arg);
	}
}

void gpubpf_handles_clear(struct gpubpf_handles *handles)
{
	for (size_t i = 0; i < GPUBPF_HANDLE_BUCKETS; i++) {
		struct gpubpf_handle *r = atomic_exchange(&handles->bucket[i], NULL), *next;

		for (; r; r = next) {
			next = r->next;
			free(r);
		}
	}
}

bool gpubpf_users_enter(struct gpubpf_users *users)
{
	return !(atomic_fetch_add(&users->n, 1) & DEAD);
}

bool gpubpf_users_leave(struct gpubpf_users *users)
{
	uint32_t had = atomic_fetch_sub(&users->n, 1);

	return gpubpf_ref_was_last(had & ~DEAD) && had & DEAD && !atomic_exchange(&users->released, true);
}

bool gpubpf_users_kill(struct gpubpf_users *users)
{
	return !(atomic_fetch_or(&users->n, DEAD) & ~DEAD) && !atomic_exchange(&users->released, true);
}
