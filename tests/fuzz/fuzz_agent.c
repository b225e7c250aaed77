/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: hooks/client/parse.c hooks/client/cache.c core/wire/files/blob_store.c hooks/process/environ.c hooks/opencl/binary.c hooks/opencl/image.c
// SOURCES: core/wire/files/sha256.c hooks/opencl/spec_constant.c backends/spirv/wire/parts.c core/wire/name.c core/wire/wire.c core/wire/msg.c core/wire/match.c core/wire/glob.c
// LIBS: -lpthread
/*
 * Passes arbitrary bytes to the agent: as a message of the tool, as a cache file, and as a SPIR-V module with
 * specialization constants. The agent must accept or refuse them without memory errors. The first byte selects the
 * parser.
 */
#include <stdlib.h>
#include <string.h>

#include "core/wire/match.h"
#include "hooks/opencl/opencl.h"
#include "hooks/process/agent_thread.h"
#include "hooks/client/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* definitions that the source files of the OpenCL hooks need */
const cl_icd_dispatch *ocl;

static struct ocl_program program = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct gpubpf_records ocl_programs;

void *gpubpf_records_find(struct gpubpf_records *records, const void *handle)
{
	return handle == &program ? &program : NULL;
}

void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	work(arg);
}

const char *ocl_binary_reason(void)
{
	return "";
}

static cl_int CL_API_CALL accept_constant(cl_program handle, cl_uint id, size_t size, const void *value)
{
	return CL_SUCCESS;
}

struct ocl_code *ocl_program_code(struct ocl_program *program, cl_device_id device)
{
	return NULL;
}

static void welcome(struct gpubpf_reader *r)
{
	struct gpubpf_welcome w;

	if (gpubpf_welcome_parse(r, &w))
		return;
	if (!w.sample)
		abort(); /* the agent divides by sample */
}

static void pattern(struct gpubpf_reader *r)
{
	char text[sizeof(((struct gpubpf_plan_entry *)0)->pattern)];

	gpubpf_get_str(r, text, sizeof(text));
	if (r->failed)
		return;
	gpubpf_pattern_matches(text, "_Z9vectorAddPKfS0_Pfi");
	gpubpf_pattern_matches("vec*", text);
}

static void arena(struct gpubpf_reader *r, bool has_fd)
{
	struct gpubpf_arena_answer a;

	if (!gpubpf_arena_parse(r, 0, has_fd, &a) && !has_fd && !a.reason[0])
		abort(); /* failure without a reason */
}

static void twins(struct gpubpf_reader *r)
{
	struct gpubpf_twin_answer a;

	if (gpubpf_twin_parse(r, &a))
		return;
	for (uint32_t i = 0; i < a.n; i++)
		if (strlen(a.entries[i].name) >= sizeof(a.entries[i].name))
			abort();
	gpubpf_twin_finish(&a);
}

static void stored(const uint8_t *data, size_t size)
{
	struct ocl_code *code = ocl_binary_parse(data, size);
	struct gpubpf_hook_image image = {0};

	if (!code)
		return;
	if (ocl_code_image(code, &image) && image.reason)
		abort();
	ocl_code_image_put(&image);
	ocl_code_put(code);
}

/* Input: the size of the constant's value, its id, its value, and the module. */
static void special(const uint8_t *data, size_t size)
{
	static const cl_icd_dispatch table = { .clSetProgramSpecializationConstant = accept_constant };

	if (size < 10)
		return;
	ocl = &table;
	program.code = ocl_code_new(GPUBPF_IMAGE_SPIRV, data + 10, size - 10, "");
	ocl_clSetProgramSpecializationConstant((cl_program)&program, data[1], data[0] % 9, data + 2);
	if (!program.code || program.code->size != size - 10)
		abort();
	ocl_code_put(program.code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpubpf_packet packet;
	struct gpubpf_reader r;

	if (!size)
		return 0;
	gpubpf_reader_init(&r, data + 1, size - 1);
	switch (data[0]) {
	case 0:
		welcome(&r);
		break;
	case 1:
	case 2:
		arena(&r, data[0] == 1);
		break;
	case 3:
		twins(&r);
		break;
	case 4:
		stored(data + 1, size - 1);
		break;
	case 5:
		gpubpf_msg_parse(data + 1, size - 1, &packet);
		break;
	case 6:
		special(data + 1, size - 1);
		break;
	case 7:
		pattern(&r);
		break;
	}
	return 0;
}
