/* SPDX-License-Identifier: Apache-2.0 */
#include "hsa.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HSA_FUNCTIONS(FN) \
	FN(hsa_init) FN(hsa_shut_down) FN(hsa_iterate_agents) FN(hsa_agent_get_info) FN(hsa_queue_create) \
	FN(hsa_agent_iterate_regions) FN(hsa_region_get_info) FN(hsa_memory_allocate) FN(hsa_signal_create) \
	FN(hsa_code_object_reader_create_from_memory) FN(hsa_executable_create_alt) FN(hsa_executable_freeze) \
	FN(hsa_executable_load_agent_code_object) FN(hsa_executable_get_symbol_by_name) \
	FN(hsa_executable_symbol_get_info) FN(hsa_signal_wait_scacquire) FN(hsa_signal_store_relaxed) \
	FN(hsa_signal_store_screlease) FN(hsa_queue_load_write_index_relaxed) FN(hsa_queue_store_write_index_relaxed) \
	FN(hsa_status_string)

#define DECLARE(name) static __typeof__(name) *p_##name;
HSA_FUNCTIONS(DECLARE)

static void die(const char *what, hsa_status_t status)
{
	const char *why = "";

	if (status != HSA_STATUS_SUCCESS && p_hsa_status_string)
		p_hsa_status_string(status, &why);
	fprintf(stderr, "%s: %#x %s\n", what, status, why);
	exit(1);
}

static void must(hsa_status_t status, const char *what)
{
	if (status != HSA_STATUS_SUCCESS)
		die(what, status);
}

static void load_runtime(void)
{
	void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!runtime)
		die("no libhsa-runtime64.so.1", 0);
#define FIND(name) \
	p_##name = (__typeof__(name) *)dlsym(runtime, #name); \
	if (!p_##name) \
		die(#name, 0);
	HSA_FUNCTIONS(FIND)
}

struct file hsa_read_file(const char *path)
{
	struct file file = { 0 };
	FILE *f = fopen(path, "rb");

	if (!f)
		die(path, 0);
	fseek(f, 0, SEEK_END);
	file.size = ftell(f);
	rewind(f);
	file.data = malloc(file.size + 1);
	if (fread(file.data, 1, file.size, f) != file.size)
		die(path, 0);
	fclose(f);
	return file;
}

static hsa_status_t on_agent(hsa_agent_t agent, void *arg)
{
	struct device *d = arg;
	hsa_device_type_t type;

	must(p_hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "agent");
	if (type == HSA_DEVICE_TYPE_GPU && !d->found) {
		d->agent = agent;
		d->found = true;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_region(hsa_region_t region, void *arg)
{
	struct device *d = arg;
	hsa_region_segment_t segment;
	uint32_t flags = 0;

	must(p_hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment), "region");
	must(p_hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags), "region");
	if (segment == HSA_REGION_SEGMENT_GLOBAL && flags & HSA_REGION_GLOBAL_FLAG_KERNARG)
		d->kernarg = region;
	return HSA_STATUS_SUCCESS;
}

struct device hsa_open(void)
{
	struct device d = { 0 };

	load_runtime();
	must(p_hsa_init(), "hsa_init");
	must(p_hsa_iterate_agents(on_agent, &d), "agents");
	if (!d.found)
		die("no GPU", 0);
	must(p_hsa_agent_iterate_regions(d.agent, on_region, &d), "regions");
	must(p_hsa_queue_create(d.agent, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX, &d.queue), "queue");
	return d;
}

void *hsa_allocate(const struct device *d, size_t size)
{
	void *memory;

	must(p_hsa_memory_allocate(d->kernarg, size, &memory), "memory");
	memset(memory, 0, size);
	return memory;
}

/* Returns the value of a symbol from the file's own symbol table. */
static uint64_t value_of(const struct file *file, const char *name)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)file->data;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(file->data + eh->e_shoff);

	for (int i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *sym = (const Elf64_Sym *)(file->data + sh[i].sh_offset);

		if (sh[i].sh_type != SHT_DYNSYM)
			continue;
		for (size_t s = 0; s < sh[i].sh_size / sizeof(*sym); s++)
			if (!strcmp((char *)file->data + sh[sh[i].sh_link].sh_offset + sym[s].st_name, name))
				return sym[s].st_value;
	}
	die(name, 0);
	return 0;
}

struct kernel hsa_load(const struct device *d, const struct file *file, const char *name)
{
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	hsa_executable_symbol_t symbol;
	struct kernel k = { 0 };
	char kd[512];

	snprintf(kd, sizeof(kd), "%s.kd", name);
	must(p_hsa_code_object_reader_create_from_memory(file->data, file->size, &reader), "reader");
	must(p_hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable),
	     "executable");
	must(p_hsa_executable_load_agent_code_object(executable, d->agent, reader, NULL, NULL), "loading");
	must(p_hsa_executable_freeze(executable, NULL), "freeze");
	must(p_hsa_executable_get_symbol_by_name(executable, kd, &d->agent, &symbol), kd);
	must(p_hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object), kd);
	p_hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.kernarg_size);
	p_hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &k.group_size);
	p_hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.private_size);
	k.base = k.object - value_of(file, kd);
	return k;
}

void hsa_run(const struct device *d, const struct kernel *k, const struct launch *l, void *kernarg)
{
	hsa_kernel_dispatch_packet_t *packet;
	hsa_signal_t done;
	uint64_t index = p_hsa_queue_load_write_index_relaxed(d->queue);

	must(p_hsa_signal_create(1, 0, NULL, &done), "signal");
	packet = (hsa_kernel_dispatch_packet_t *)d->queue->base_address + index % d->queue->size;
	/* the header is written last: a polling device would take a header of 0 for a vendor-specific packet */
	*packet = (hsa_kernel_dispatch_packet_t){
		.header = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE, .setup = 3,
		.workgroup_size_x = l->block[0], .workgroup_size_y = l->block[1], .workgroup_size_z = l->block[2],
		.grid_size_x = l->grid[0], .grid_size_y = l->grid[1], .grid_size_z = l->grid[2],
		.private_segment_size = k->private_size, .group_segment_size = k->group_size, .kernel_object = k->object,
		.kernarg_address = kernarg, .completion_signal = done,
	};
	p_hsa_queue_store_write_index_relaxed(d->queue, index + 1);
	__atomic_store_n(&packet->header, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
		HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
		HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE, __ATOMIC_RELEASE);
	p_hsa_signal_store_screlease(d->queue->doorbell_signal, index);
	p_hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
}
