/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: loads a twin's module into the driver, as machine code or as PTX that the driver compiles. Stores the addresses
 * of the application's variables in the twin's variables gpubpf_bind_<i>.
 * Before: the session has sent the twin.
 * After: the context has a module with the twin, or *why has the reason for the failure.
 * Requires: the context is current.
 */
#include "twin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/twin_format.h"

const char *const cuda_twin_symbols[SYMBOLS] = { "gpubpf_arena",  "gpubpf_clock_offset", "gpubpf_kernel",
						 "gpubpf_launch", "gpubpf_pid",          CUDA_FLAT_SUFFIX };

int cuda_twin_refuse(struct gpubpf_reason *why, const char *what, const char *name, CUresult error)
{
	snprintf(why->text, sizeof(why->text), "%s %.120s%s%s", what, name, *name ? ": " : "",
		 cuda_error(&cuda_direct, error));
	return -EINVAL;
}

static CUresult store_word(CUmodule module, const char *name, uint64_t value)
{
	CUdeviceptr at;
	size_t size;
	CUresult error = cuda_direct.module_global(&at, &size, module, name);

	return error ? error : cuda_copy_to(&cuda_direct, at, &value, sizeof(value));
}

/* Get the device address of the application's variable `name` in the current context. */
static CUresult variable(struct cuda_module *from, const char *name, CUdeviceptr *address)
{
	CUmodule module = from->base.handle;
	size_t size;
	CUresult error = 0;

	if (from->library)
		error = cuda_next.cuLibraryGetModule(&module, (CUlibrary)from->base.handle);
	return error ? error : cuda_direct.module_global(address, &size, module, name);
}

/*
 * Store the addresses of the application's variables in the twin's variables. The twin's text begins with lines
 * "//gpubpf-bind NAME". Line i names the variable whose address is stored in gpubpf_bind_<i>.
 */
static int bind_variables(struct cuda_twin_module *m, const char *text, size_t size, struct gpubpf_reason *why)
{
	static const char mark[] = "//gpubpf-bind ";
	const char *end = text + size;

	for (unsigned i = 0; (size_t)(end - text) > sizeof(mark) && !memcmp(text, mark, sizeof(mark) - 1); i++) {
		const char *from = text + sizeof(mark) - 1, *line = memchr(from, '\n', end - from);
		char name[256], word[40];
		CUdeviceptr address;
		CUresult error;

		if (!line || (size_t)(line - from) >= sizeof(name))
			return cuda_twin_refuse(why, "the twin", "has an invalid binding", 1);
		memcpy(name, from, line - from);
		name[line - from] = 0;
		error = variable(m->original->module, name, &address);
		if (error)
			return cuda_twin_refuse(why, "no address of the application's variable", name, error);
		snprintf(word, sizeof(word), "gpubpf_bind_%u", i);
		error = store_word(m->module, word, address);
		if (error)
			return cuda_twin_refuse(why, "cannot set the twin's variable", word, error);
		text = line + 1;
	}
	return 0;
}

/*
 * Prevent the application from unloading its module while the agent reads variables of that module. The application may
 * unload it at any time, because launches need not wait for the twin.
 */
static int pin_module(struct cuda_module *original, struct gpubpf_reason *why)
{
	if (cuda_module_pin_handle(original))
		return 0;
	snprintf(why->text, sizeof(why->text), "its module was unloaded before the twin was ready");
	return -EOPNOTSUPP;
}

static int bind_to_module(struct cuda_twin_module *m, const char *text, size_t size, struct gpubpf_reason *why)
{
	struct cuda_module *original = m->original->module;
	int err = pin_module(original, why);

	if (err < 0)
		return err;
	err = bind_variables(m, text, size, why);
	cuda_module_unpin_handle(original);
	return err;
}

struct variable_query {
	struct cuda_module *of;
	struct gpubpf_reason *why;
};

static int get_variable_address(void *arg, const char *name, uint64_t *address)
{
	struct variable_query *variable_query = arg;
	CUdeviceptr at;
	CUresult error = variable(variable_query->of, name, &at);

	*address = at;
	return error ? cuda_twin_refuse(variable_query->why, "no address of the application's variable", name, error) : 0;
}

/* Load machine code. The addresses of the application's variables are written into the code first. */
static int load_code(struct cuda_twin_module *m, const void *data, size_t size, struct gpubpf_reason *why)
{
	struct variable_query variable_query = { m->original->module, why };
	void *twin = malloc(size);
	CUresult error;
	int err;

	if (!twin)
		return -ENOMEM;
	memcpy(twin, data, size);
	err = pin_module(variable_query.of, why);
	if (!err) {
		err = cuda_twin_bind(twin, size, get_variable_address, &variable_query);
		cuda_module_unpin_handle(variable_query.of);
	}
	error = err ? 0 : cuda_direct.module_load(&m->module, twin, 0, NULL, NULL);
	free(twin);
	return error ? cuda_twin_refuse(why, "the driver refused the twin:", "machine code", error) : err;
}

/*
 * Load machine code that the session compiled from the twin's PTX. Returns false if the driver refuses the code, for
 * example because the driver is older than the compiler. Then the driver must compile the PTX.
 */
static bool load_assembled(struct cuda_twin_module *m, const void *data, size_t size)
{
	void *code = malloc(size);
	bool loaded = false;

	if (code) {
		memcpy(code, data, size);
		loaded = !cuda_direct.module_load(&m->module, code, 0, NULL, NULL);
	}
	free(code);
	return loaded;
}

int cuda_twin_compile(struct cuda_twin_module *m, const char *text, uint32_t registers, struct gpubpf_reason *why)
{
	char log[160] = "";
	int options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log), (void *)(uintptr_t)registers };
	CUresult error = cuda_direct.module_load(&m->module, text, registers ? 3 : 2, options, values);

	log[strcspn(log, "\n")] = 0;
	m->compiled_by = GPUBPF_BY_RUNTIME;
	return error ? cuda_twin_refuse(why, "the driver refused the twin:", log, error) :
		       bind_to_module(m, text, strlen(text), why);
}

int cuda_twin_recompile(struct cuda_twin_module *m, struct gpubpf_reason *why)
{
	CUmodule code = m->module;

	m->module = NULL;
	if (code)
		cuda_direct.module_unload(code);
	return cuda_twin_compile(m, m->text, 0, why);
}

static int load_text(struct cuda_twin_module *m, const struct gpubpf_hook_twin_image *image, struct gpubpf_reason *why)
{
	m->text = strndup(image->data, image->size);
	if (!m->text)
		return -ENOMEM;
	m->compiled_by = GPUBPF_BY_ASSEMBLER;
	if (image->code && load_assembled(m, image->code, image->code_size) &&
	    !bind_to_module(m, m->text, strlen(m->text), why))
		return 0;
	return cuda_twin_recompile(m, why);
}

static void find_symbols(struct cuda_twin_module *m, const void *twin, size_t size)
{
	for (int i = 0; i < SYMBOLS; i++)
		m->symbol_mask |= (uint32_t)cuda_twin_names(twin, size, cuda_twin_symbols[i]) << i;
}

int cuda_twin_load_module(struct cuda_twin_module *m, const struct gpubpf_hook_twin_image *image, struct gpubpf_reason *why)
{
	find_symbols(m, image->data, image->size);
	if (image->kind == GPUBPF_IMAGE_PTX)
		return load_text(m, image, why);
	if (image->kind == GPUBPF_IMAGE_CUBIN)
		return load_code(m, image->data, image->size, why);
	snprintf(why->text, sizeof(why->text), "the session sent a twin that is neither PTX nor a cubin");
	return -EINVAL;
}
