/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and launches of the tests' HIP runtime. Each launch is a packet in the only HSA queue, which runs packets in
 * order.
 */
#include "runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 32             /* maximum number of launches in flight, less than the queue's size */
#define KERNARG_SIZE 8192
#define FUNCTIONS 64
#define EXTRA_POINTER ((void *)1)
#define EXTRA_SIZE ((void *)2)
#define EXTRA_END ((void *)3)

struct ihipModuleSymbol_t {
	struct meta meta;
	uint64_t object;
	uint32_t group_size, private_size;
};

struct ihipModule_t {
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	const void *image;           /* the caller owns the image */
	pthread_mutex_t lock;
	unsigned nfunctions;
	struct ihipModuleSymbol_t *function[FUNCTIONS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot {
	hsa_signal_t done;           /* signal of the launch in flight; 0: the slot is free */
	uint8_t *kernarg;
} slots[SLOTS];

/* ---- modules ---- */

static int load(hipModule_t m, const void *image, size_t size)
{
	const struct runtime *r = runtime();

	if (hsa_code_object_reader_create_from_memory(image, size, &m->reader))
		return INVALID_IMAGE;
	if (hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &m->executable) ||
	    hsa_executable_load_agent_code_object(m->executable, r->agent, m->reader, NULL, NULL) ||
	    hsa_executable_freeze(m->executable, NULL))
		return INVALID_IMAGE;
	return 0;
}

static void unload(hipModule_t m)
{
	for (unsigned i = 0; i < m->nfunctions; i++)
		free(m->function[i]);
	if (m->executable.handle)
		hsa_executable_destroy(m->executable);
	if (m->reader.handle)
		hsa_code_object_reader_destroy(m->reader);
	free(m);
}

CALL(hipModuleLoadData, (hipModule_t *module, const void *image))
{
	size_t size = meta_image_size(image);
	hipModule_t m = size && !runtime()->error ? calloc(1, sizeof(*m)) : NULL;
	int error;

	if (!m)
		return answer(runtime()->error ? runtime()->error : INVALID_IMAGE);
	m->image = image;
	pthread_mutex_init(&m->lock, NULL);
	error = load(m, image, size);
	if (error)
		unload(m);
	else
		*module = m;
	return answer(error);
}

CALL(hipModuleUnload, (hipModule_t module))
{
	int error = drain();

	unload(module);
	return answer(error);
}

static bool read_symbol(hipModule_t m, const char *name, hipFunction_t f)
{
	hsa_agent_t agent = runtime()->agent;
	hsa_executable_symbol_t symbol;
	char descriptor[1024];

	snprintf(descriptor, sizeof(descriptor), "%s.kd", name);
	return meta_read(m->image, name, &f->meta) &&
	       !hsa_executable_get_symbol_by_name(m->executable, descriptor, &agent, &symbol) &&
	       !hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &f->object) &&
	       !hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &f->group_size) &&
	       !hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &f->private_size);
}

CALL(hipModuleGetFunction, (hipFunction_t *function, hipModule_t module, const char *name))
{
	hipFunction_t f = calloc(1, sizeof(*f));
	bool found;

	pthread_mutex_lock(&module->lock);
	found = f && module->nfunctions < FUNCTIONS && read_symbol(module, name, f);
	if (found)
		module->function[module->nfunctions++] = *function = f;
	pthread_mutex_unlock(&module->lock);
	if (!found)
		free(f);
	return answer(found ? 0 : hipErrorNotFound);
}

CALL(hipFuncGetAttribute, (int *value, int attribute, hipFunction_t f))
{
	*value = attribute == HIP_FUNC_ATTRIBUTE_NUM_REGS ? (int)f->meta.registers : 0;
	return answer(attribute == HIP_FUNC_ATTRIBUTE_NUM_REGS ? 0 : INVALID_VALUE);
}

/*
 * Limits blocks by the number of waves only, because HSA does not report the registers and shared memory of a compute
 * unit.
 */
CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, hipFunction_t f, int threads, size_t shared))
{
	uint32_t waves = 0, lanes = 1;

	hsa_agent_get_info(runtime()->agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, &waves);
	hsa_agent_get_info(runtime()->agent, HSA_AGENT_INFO_WAVEFRONT_SIZE, &lanes);
	*n = (int)(waves / (((uint32_t)threads + lanes - 1) / lanes));
	return 0;
}

/* ---- arguments ---- */

struct shape {
	uint32_t blocks[3], threads[3];
	uint32_t shared;
};

/* Writes one hidden argument of the compiler. Arguments for printing, heaps and host calls are 0. */
static void write_hidden(uint8_t *at, const struct meta_arg *arg, const struct shape *s)
{
	static const char *const words[] = { "hidden_block_count_", "hidden_group_size_" };
	int axis = arg->kind.at[arg->kind.len - 1] - 'x';
	uint32_t value = 0;

	if (meta_is(arg->kind, "hidden_grid_dims"))
		value = 3;
	else if (meta_is(arg->kind, "hidden_dynamic_lds_size"))
		value = s->shared;
	else if (axis >= 0 && axis < 3 && arg->kind.len == strlen(words[0]) + 1 && !memcmp(arg->kind.at, words[0], strlen(words[0])))
		value = s->blocks[axis];
	else if (axis >= 0 && axis < 3 && arg->kind.len == strlen(words[1]) + 1 && !memcmp(arg->kind.at, words[1], strlen(words[1])))
		value = s->threads[axis];
	memcpy(at, &value, arg->size < sizeof(value) ? arg->size : sizeof(value));
}

static bool write_buffer(uint8_t *kernarg, void **extra)
{
	const void *from = NULL;
	size_t size = 0;

	for (; extra && *extra != EXTRA_END; extra += 2)
		if (*extra == EXTRA_POINTER)
			from = extra[1];
		else if (*extra == EXTRA_SIZE)
			size = *(size_t *)extra[1];
	if (!from || size > KERNARG_SIZE)
		return false;
	memcpy(kernarg, from, size);
	return true;
}

static bool write_arguments(uint8_t *kernarg, const struct meta *meta, void **params, void **extra, const struct shape *s)
{
	memset(kernarg, 0, KERNARG_SIZE);
	if (!params && extra && !write_buffer(kernarg, extra))
		return false;
	for (uint32_t i = 0, n = 0; i < meta->nargs; i++) {
		const struct meta_arg *arg = &meta->arg[i];

		if (arg->size > KERNARG_SIZE || arg->offset > KERNARG_SIZE - arg->size)
			return false;
		if (meta_is_hidden(arg))
			write_hidden(kernarg + arg->offset, arg, s);
		else if (params)
			memcpy(kernarg + arg->offset, params[n++], arg->size);
		else if (!extra)
			return false;
	}
	return true;
}

/* ---- launches ---- */

static bool slot_wait(struct slot *slot)
{
	return !slot->done.handle ||
	       hsa_signal_wait_scacquire(slot->done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) < 1;
}

static int wait_all(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (!slot_wait(&slots[i]))
			return LAUNCH_FAILURE;
	return 0;
}

int drain(void)
{
	int error = runtime()->error;

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	error = wait_all();
	pthread_mutex_unlock(&lock);
	return error;
}

bool idle(void)
{
	bool all = true;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < SLOTS; i++)
		all &= !slots[i].done.handle || hsa_signal_load_scacquire(slots[i].done) < 1;
	pthread_mutex_unlock(&lock);
	return all;
}

static struct slot *reserve_slot(uint64_t index)
{
	struct slot *slot = &slots[index % SLOTS];

	if (!slot->kernarg && (hsa_memory_allocate(runtime()->memory, KERNARG_SIZE, (void **)&slot->kernarg) ||
			       hsa_signal_create(0, 0, NULL, &slot->done)))
		return NULL;
	return slot_wait(slot) ? slot : NULL;
}

static void write_packet(uint64_t index, hipFunction_t f, const struct shape *s, const struct slot *slot)
{
	hsa_queue_t *queue = runtime()->queue;
	hsa_kernel_dispatch_packet_t *packet = (hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;

	/* the header is written last: a polling device would take a header of 0 for a vendor-specific packet */
	*packet = (hsa_kernel_dispatch_packet_t){
		.header = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE, .setup = 3,
		.workgroup_size_x = (uint16_t)s->threads[0], .workgroup_size_y = (uint16_t)s->threads[1],
		.workgroup_size_z = (uint16_t)s->threads[2], .grid_size_x = s->blocks[0] * s->threads[0],
		.grid_size_y = s->blocks[1] * s->threads[1], .grid_size_z = s->blocks[2] * s->threads[2],
		.private_segment_size = f->private_size, .group_segment_size = f->group_size + s->shared,
		.kernel_object = f->object, .kernarg_address = slot->kernarg, .completion_signal = slot->done,
	};
	hsa_queue_store_write_index_relaxed(queue, index + 1);
	__atomic_store_n(&packet->header, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
		HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
		HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static int launch(hipFunction_t f, const struct shape *s, void **params, void **extra)
{
	uint64_t index = hsa_queue_load_write_index_relaxed(runtime()->queue);
	struct slot *slot = reserve_slot(index);

	if (!slot)
		return LAUNCH_FAILURE;
	if (!write_arguments(slot->kernarg, &f->meta, params, extra, s))
		return INVALID_VALUE;
	hsa_signal_store_screlease(slot->done, 1);
	write_packet(index, f, s, slot);
	return 0;
}

static bool is_possible(const struct shape *s, uint32_t most)
{
	for (int i = 0; i < 3; i++)
		if (!s->blocks[i] || !s->threads[i] || s->blocks[i] > most_blocks(i) ||
		    (uint64_t)s->blocks[i] * s->threads[i] > UINT32_MAX)
			return false;
	return (uint64_t)s->threads[0] * s->threads[1] * s->threads[2] <= most;
}

CALL(hipModuleLaunchKernel, (hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			     unsigned shared, hipStream_t stream, void **params, void **extra))
{
	struct shape s = { { gx, gy, gz }, { bx, by, bz }, shared };
	int error;

	if (stream)
		return answer(INVALID_HANDLE);
	if (!is_possible(&s, f->meta.most_threads))
		return answer(INVALID_CONFIGURATION);
	pthread_mutex_lock(&lock);
	error = launch(f, &s, params, extra);
	pthread_mutex_unlock(&lock);
	return answer(error);
}
