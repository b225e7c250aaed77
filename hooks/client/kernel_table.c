/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel table: counters in memory that the agent shares with the tool. An atomic counter allocates rows. The agent
 * fills a row and then marks it valid. If there is no kernel table, or if it is full, a kernel uses private counters.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define BUCKETS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpubpf_kernel_entry *buckets[BUCKETS];

void gpubpf_kernel_table_add(uint64_t *word, uint64_t n)
{
	__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

static size_t bucket_of(const char *name, uint32_t device)
{
	size_t h = device;

	for (; *name; name++)
		h = h * 31 + (unsigned char)*name;
	return h % BUCKETS;
}

static struct gpubpf_kernel_row *allocate_row(const char *name, const char *backend, uint32_t device, bool *own)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();
	struct gpubpf_kernel_row *k;
	uint32_t i;

	i = table ? __atomic_fetch_add(&table->nkernels, 1, __ATOMIC_RELAXED) : GPUBPF_KERNEL_TABLE_ROWS;
	if (i >= GPUBPF_KERNEL_TABLE_ROWS) {
		/* `nkernels` grows beyond the limit, so only one kernel of all processes triggers the message */
		if (table && i == GPUBPF_KERNEL_TABLE_ROWS)
			gpubpf_log_once("more than %d kernels: %s and later ones are not counted",
					GPUBPF_KERNEL_TABLE_ROWS, name);
		*own = true;
		return calloc(1, sizeof(*k));
	}
	k = &table->kernel[i];
	__atomic_store_n(&k->used, 1, __ATOMIC_RELAXED);
	k->state = GPUBPF_KERNEL_SEEN;
	k->process = gpubpf_session_process();
	k->device = device;
	strncpy(k->backend, backend, sizeof(k->backend) - 1);
	strncpy(k->name, name, sizeof(k->name) - 1);
	__atomic_store_n(&k->used, 2, __ATOMIC_RELEASE);
	return k;
}

static struct gpubpf_kernel_entry *create(const char *name, const char *backend, uint32_t device)
{
	struct gpubpf_kernel_entry *entry = calloc(1, sizeof(*entry) + strlen(name) + 1);

	gpubpf_assert_held(&lock);
	if (!entry)
		return NULL;
	strcpy(entry->name, name);
	entry->device = device;
	entry->backend = backend;
	entry->generation = gpubpf_session_generation();
	entry->shared = allocate_row(name, backend, device, &entry->has_own_row);
	if (!entry->shared) {
		free(entry);
		return NULL;
	}
	return entry;
}

static bool matches(const struct gpubpf_kernel_entry *entry, uint32_t generation, const char *backend, uint32_t device)
{
	return entry->generation == generation && entry->device == device && !strcmp(entry->backend, backend);
}

void gpubpf_kernel_table_note_launched(struct gpubpf_kernel_entry *entry)
{
	__atomic_store_n(&entry->shared->launched, 1, __ATOMIC_RELAXED);
}

struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const char *backend, uint32_t device, bool begun)
{
	struct gpubpf_kernel_entry **head = &buckets[bucket_of(name, device)], *entry;
	uint32_t generation = gpubpf_session_generation();

	pthread_mutex_lock(&lock);
	for (entry = *head; entry; entry = entry->next)
		if (matches(entry, generation, backend, device) && !strcmp(entry->name, name))
			break;
	if (!entry && (entry = create(name, backend, device))) {
		entry->next = *head;
		*head = entry;
	}
	pthread_mutex_unlock(&lock);
	if (entry && begun)
		gpubpf_kernel_table_note_launched(entry);
	return entry;
}

void gpubpf_kernel_table_set_state(struct gpubpf_kernel_entry *entry, enum gpubpf_kernel_state state, const char *reason)
{
	struct gpubpf_kernel_row *k = entry->shared;

	pthread_mutex_lock(&lock);
	if (reason)
		strncpy(k->reason, reason, sizeof(k->reason) - 1);
	__atomic_store_n(&k->state, state, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static void free_gates(struct gpubpf_kernel_entry *entry)
{
	struct gpubpf_gate_state *s = entry->gates, *next;

	for (; s; s = next) {
		next = s->next;
		free(s);
	}
}

void gpubpf_kernel_table_release(void)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		while (buckets[i]) {
			struct gpubpf_kernel_entry *entry = buckets[i];

			buckets[i] = entry->next;
			if (entry->has_own_row)
				free(entry->shared);
			free_gates(entry);
			free(entry);
		}
	pthread_mutex_unlock(&lock);
}

void gpubpf_kernel_table_lock(void)
{
	pthread_mutex_lock(&lock);
}

void gpubpf_kernel_table_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void for_each_entry(const char *backend, uint32_t device, void (*fn)(struct gpubpf_kernel_entry *))
{
	uint32_t generation = gpubpf_session_generation();

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct gpubpf_kernel_entry *entry = buckets[i]; entry; entry = entry->next)
			if (matches(entry, generation, backend, device))
				fn(entry);
	pthread_mutex_unlock(&lock);
}

static void note_copied_launches(struct gpubpf_kernel_entry *entry)
{
	entry->copied_launches = __atomic_load_n(&entry->shared->probed, __ATOMIC_RELAXED);
}

static void copied(struct gpubpf_kernel_entry *entry)
{
	__atomic_store_n(&entry->shared->copied, entry->copied_launches, __ATOMIC_RELAXED);
}

void gpubpf_kernel_table_begin_copy(const char *backend, uint32_t device)
{
	for_each_entry(backend, device, note_copied_launches);
}

void gpubpf_kernel_table_end_copy(const char *backend, uint32_t device)
{
	for_each_entry(backend, device, copied);
}
