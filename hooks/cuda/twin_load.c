/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA operations of the launch path: images of functions, and loading, binding and unloading twins. */
#include "cuda.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/wire/twin_format.h"
#include "core/wire/name.h"

#define FUNC_SHARED 1    /* CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES */
#define FUNC_LOCAL 3     /* CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES */
#define FUNC_REGISTERS 4 /* CU_FUNC_ATTRIBUTE_NUM_REGS */

/* Symbols that a twin defines only if its probes use them. The agent looks up no others, since tools that trace the
 * program's calls report each failing call. */
enum symbol { ARENA, CLOCK, KERNEL, LAUNCH, PID, FLAT, SYMBOLS };

static const char *const symbols[] = { "gpubpf_arena", "gpubpf_clock_offset", "gpubpf_kernel", "gpubpf_launch", "gpubpf_pid",
				       CUDA_FLAT_SUFFIX };

static struct gpubpf_handles twins = GPUBPF_HANDLES_INIT;

struct module {
	CUmodule module;
	CUcontext context;
	struct gpubpf_hook_device *device;
	struct cuda_function *original;
	enum gpubpf_compiled_by compiled_by;
	uint32_t symbol_mask; /* bit per symbol that it may define */
	char *text;       /* source text until its kernel is found; NULL: it came as machine code */
	uint64_t load_ns; /* duration of the load */
};

/* "sm_90" as 90 */
static uint32_t capability(const struct gpubpf_hook_device *of)
{
	int major = 0, minor = 0, mode;
	CUdevice device;

	if (cuda_enter(&cuda_direct, gpubpf_hook_device_open_params(of)->context, &mode))
		return 0;
	if (!cuda_direct.ctx_device(&device)) {
		cuda_direct.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
		cuda_direct.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	}
	cuda_leave(&cuda_direct, &mode);
	return 10 * major + minor;
}

static int image(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image)
{
	struct cuda_function *f = adapter_program;
	bool code = image->unloadable >> GPUBPF_IMAGE_PTX & 1;

	image->kind = GPUBPF_IMAGE_FATBIN; /* or ELF or PTX: the target detects it */
	image->from = f->module->from;
	/* the parts of a container that the device uses */
	image->identity = f->module->number << 17 | (uint64_t)code << 16 | capability(device);
	image->kept = gpubpf_image_is_cached(image->identity);
	if (!image->kept)
		image->data = cuda_module_image(f->module, code, capability(device), &image->size, &image->reason);
	return 0;
}

static void image_put(struct gpubpf_hook_image *image)
{
	free((void *)image->data);
}

static int refuse(struct gpubpf_reason *why, const char *what, const char *name, CUresult error)
{
	snprintf(why->text, sizeof(why->text), "%s %.120s%s%s", what, name, *name ? ": " : "", cuda_error(&cuda_direct, error));
	return -EINVAL;
}

static CUresult store_word(CUmodule module, const char *name, uint64_t value)
{
	CUdeviceptr at;
	size_t size;
	CUresult error = cuda_direct.module_global(&at, &size, module, name);

	return error ? error : cuda_copy_to(&cuda_direct, at, &value, sizeof(value));
}

/* The address of an application's variable in the current context. */
static CUresult variable(struct cuda_module *from, const char *name, CUdeviceptr *address)
{
	CUmodule module = from->base.handle;
	size_t size;
	CUresult error = 0;

	if (from->library)
		error = cuda_next.cuLibraryGetModule(&module, (CUlibrary)from->base.handle);
	return error ? error : cuda_direct.module_global(address, &size, module, name);
}

/* Bind the variables named by lines "//gpubpf-bind NAME" at the head of the twin's text, in the order of its words
 * gpubpf_bind_<i>. */
static int bind_variables(struct module *m, const char *text, size_t size, struct gpubpf_reason *why)
{
	static const char mark[] = "//gpubpf-bind ";
	const char *end = text + size;

	for (unsigned i = 0; (size_t)(end - text) > sizeof(mark) && !memcmp(text, mark, sizeof(mark) - 1); i++) {
		const char *from = text + sizeof(mark) - 1, *line = memchr(from, '\n', end - from);
		char name[256], word[40];
		CUdeviceptr address;
		CUresult error;

		if (!line || (size_t)(line - from) >= sizeof(name))
			return refuse(why, "the twin", "has an invalid binding", 1);
		memcpy(name, from, line - from);
		name[line - from] = 0;
		error = variable(m->original->module, name, &address);
		if (error)
			return refuse(why, "the application's variable", name, error);
		snprintf(word, sizeof(word), "gpubpf_bind_%u", i);
		error = store_word(m->module, word, address);
		if (error)
			return refuse(why, "the twin's word", word, error);
		text = line + 1;
	}
	return 0;
}

/* The application may unload the module meanwhile, since its launches need not wait for the twin. */
static int lend_module(struct cuda_module *original, struct gpubpf_reason *why)
{
	if (cuda_module_pin_handle(original))
		return 0;
	snprintf(why->text, sizeof(why->text), "its module was unloaded before the twin was ready");
	return -EOPNOTSUPP;
}

static int bind_to_module(struct module *m, const char *text, size_t size, struct gpubpf_reason *why)
{
	struct cuda_module *original = m->original->module;
	int err = lend_module(original, why);

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
	return error ? refuse(variable_query->why, "the application's variable", name, error) : 0;
}

/* Machine code gets the addresses of variables before it is loaded. */
static int load_code(struct module *m, const void *data, size_t size, struct gpubpf_reason *why)
{
	struct variable_query variable_query = { m->original->module, why };
	void *twin = malloc(size);
	CUresult error;
	int err;

	if (!twin)
		return -ENOMEM;
	memcpy(twin, data, size);
	err = lend_module(variable_query.of, why);
	if (!err) {
		err = cuda_twin_bind(twin, size, get_variable_address, &variable_query);
		cuda_module_unpin_handle(variable_query.of);
	}
	error = err ? 0 : cuda_direct.module_load(&m->module, twin, 0, NULL, NULL);
	free(twin);
	return error ? refuse(why, "the driver refused the twin:", "machine code", error) : err;
}

static void twin_unload(void *module)
{
	struct module *m = module;
	int mode;

	if (m->module && gpubpf_hook_device_use(m->device)) {
		if (!cuda_enter(&cuda_direct, m->context, &mode)) {
			cuda_direct.module_unload(m->module);
			cuda_leave(&cuda_direct, &mode);
		}
		gpubpf_hook_device_leave(m->device);
	}
	free(m->text);
	free(m);
}

/* Load machine code in place of text that the driver would compile. A driver older than the code's compiler may
 * refuse it. */
static bool load_assembled(struct module *m, const void *data, size_t size)
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

/* Compile the text with the driver's compiler, with a register limit per thread if not 0. */
static int compile(struct module *m, const char *text, uint32_t registers, struct gpubpf_reason *why)
{
	char log[160] = "";
	int options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log), (void *)(uintptr_t)registers };
	CUresult error = cuda_direct.module_load(&m->module, text, registers ? 3 : 2, options, values);

	log[strcspn(log, "\n")] = 0;
	m->compiled_by = GPUBPF_BY_RUNTIME;
	return error ? refuse(why, "the driver refused the twin:", log, error) :
	       bind_to_module(m, text, strlen(text), why);
}

/* Compile the text after its machine code failed. A driver with lazy loading inspects a module's code only on its
 * first use. The caller has made the module's context current. */
static int recompile_text(struct module *m, struct gpubpf_reason *why)
{
	CUmodule code = m->module;

	m->module = NULL;
	if (code)
		cuda_direct.module_unload(code);
	return compile(m, m->text, 0, why);
}

static int load_text(struct module *m, const void *data, size_t size, struct gpubpf_reason *why)
{
	size_t code_size;
	const void *code = cuda_twin_code(data, size, &code_size);

	m->text = strndup(data, size);
	if (!m->text)
		return -ENOMEM;
	m->compiled_by = GPUBPF_BY_ASSEMBLER;
	if (code && load_assembled(m, code, code_size) && !bind_to_module(m, m->text, strlen(m->text), why))
		return 0;
	return recompile_text(m, why);
}

static void find_symbols(struct module *m, const void *twin, size_t size)
{
	for (int i = 0; i < SYMBOLS; i++)
		m->symbol_mask |= (uint32_t)cuda_twin_names(twin, size, symbols[i]) << i;
}

static int load(struct module *m, enum gpubpf_image_kind kind, const void *data, size_t size, struct gpubpf_reason *why)
{
	find_symbols(m, data, kind == GPUBPF_IMAGE_PTX ? strnlen(data, size) : size);
	if (kind == GPUBPF_IMAGE_PTX)
		return load_text(m, data, size, why);
	if (kind == GPUBPF_IMAGE_CUBIN)
		return load_code(m, data, size, why);
	snprintf(why->text, sizeof(why->text), "the session sent a twin that is neither PTX nor a cubin");
	return -EINVAL;
}

static int twin_load(struct gpubpf_hook_device *device, void *adapter_program, enum gpubpf_image_kind kind,
		     const void *data, size_t size, const char *options, void **module, struct gpubpf_reason *why)
{
	struct module *m = calloc(1, sizeof(*m));
	CUresult error;
	int err, mode;

	if (!m)
		return -ENOMEM;
	m->original = adapter_program;
	m->device = device;
	m->context = gpubpf_hook_device_open_params(device)->context;
	error = cuda_enter(&cuda_direct, m->context, &mode);
	if (error) {
		free(m);
		return refuse(why, "the context", "", error);
	}
	m->load_ns = gpubpf_now_ns();
	err = load(m, kind, data, size, why);
	m->load_ns = gpubpf_now_ns() - m->load_ns;
	cuda_leave(&cuda_direct, &mode);
	if (err < 0) {
		twin_unload(m);
		return err;
	}
	*module = m;
	return 0;
}

/* The address of a word; 0: the twin does not define it. */
static CUresult find_word(const struct module *m, enum symbol word, CUdeviceptr *at)
{
	CUresult error = CUDA_ERROR_NOT_FOUND;
	size_t size;

	if (m->symbol_mask >> word & 1)
		error = cuda_direct.module_global(at, &size, m->module, symbols[word]);
	if (error)
		*at = 0;
	return error == CUDA_ERROR_NOT_FOUND ? 0 : error;
}

static CUresult store_at(CUdeviceptr at, uint64_t value)
{
	return at ? cuda_copy_to(&cuda_direct, at, &value, sizeof(value)) : 0;
}

static CUresult store_if_defined(const struct module *m, enum symbol word, uint64_t value)
{
	CUdeviceptr at;
	CUresult error = find_word(m, word, &at);

	return error ? error : store_at(at, value);
}

/* Find the twin's words and initialize them. */
static CUresult store_words(struct module *m, struct cuda_twin_handle *t, uint64_t kernel)
{
	/* graph launches write no words: name at least this process */
	uint64_t pid = (uint64_t)getpid() << 32 | (uint32_t)gettid();
	CUresult error = find_word(m, LAUNCH, &t->launch);

	t->offset = gpubpf_hook_device_clock_offset(m->device);
	if (!error)
		error = find_word(m, PID, &t->pid);
	if (!error)
		error = find_word(m, CLOCK, &t->clock);
	if (!error)
		error = store_if_defined(m, ARENA, gpubpf_hook_device_arena(m->device));
	if (!error)
		error = store_if_defined(m, KERNEL, kernel);
	if (!error)
		error = store_at(t->clock, t->offset);
	return error ? error : store_at(t->pid, pid);
}

/* A twin that counts a block's lanes has more static shared memory than the kernel, so a launch can add less. */
static void find_shared(struct cuda_twin_handle *t, CUdevice device)
{
	int all = 0; /* stays 0 if the driver does not know the attribute */

	t->max_added_shared = -1;
	if (cuda_next.cuFuncGetAttribute && !cuda_next.cuFuncGetAttribute(&t->shared, FUNC_SHARED, t->f) &&
	    !cuda_direct.device_attribute(&all, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device) && all > t->shared)
		t->max_added_shared = all - t->shared;
}

/* INT_MAX: unknown. */
static int attribute(int which, CUfunction f)
{
	int value = 0;

	return cuda_next.cuFuncGetAttribute(&value, which, f) ? INT_MAX : value;
}

/* 0: unknown, or the application has unloaded it. */
static int attribute_of_original(int which, const struct cuda_twin_handle *t)
{
	CUfunction original = cuda_function_in_context(t->original, t->context);
	int value = original ? attribute(which, original) : INT_MAX;

	return value == INT_MAX ? 0 : value;
}

/* The device allocates registers in units of 8 per thread. */
static int round_registers(int registers)
{
	return registers > INT_MAX - 7 ? registers : (registers + 7) & ~7;
}

/* Wherever the twin fits, its flat variant must fit too. */
static bool is_as_small(CUfunction flat, CUfunction f)
{
	return round_registers(attribute(FUNC_REGISTERS, flat)) <= round_registers(attribute(FUNC_REGISTERS, f)) &&
	       attribute(FUNC_LOCAL, flat) <= attribute(FUNC_LOCAL, f) && attribute(FUNC_SHARED, flat) <= attribute(FUNC_SHARED, f);
}

static void find_flat(struct module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what)
{
	char name[GPUBPF_WHOLE_NAME_SIZE + sizeof(CUDA_FLAT_SUFFIX)];

	t->flat = NULL;
	if (!cuda_next.cuFuncGetAttribute || !(m->symbol_mask >> FLAT & 1) ||
	    (size_t)snprintf(name, sizeof(name), "%s" CUDA_FLAT_SUFFIX, what->name) >= sizeof(name) ||
	    cuda_direct.module_function(&t->flat, m->module, name) || !is_as_small(t->flat, t->f))
		t->flat = NULL;
}

/* The caller has made the module's context current. */
static CUresult find_kernel(struct module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what)
{
	CUresult error = cuda_direct.module_function(&t->f, m->module, what->name);
	CUdevice device;

	if (!error)
		error = store_words(m, t, what->kernel);
	if (!error)
		error = cuda_direct.ctx_device(&device);
	if (!error)
		error = cuda_direct.device_attribute(&t->unit_registers, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device);
	if (!error)
		error = cuda_direct.device_attribute(&t->fit.units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	if (!error)
		find_shared(t, device);
	if (!error)
		find_flat(m, t, what);
	if (cuda_next.cuFuncGetAttribute && !error) {
		t->registers[0] = attribute_of_original(FUNC_REGISTERS, t);
		error = cuda_next.cuFuncGetAttribute(&t->registers[1], FUNC_REGISTERS, t->f);
	}
	return error;
}

/* ---- a twin with more registers than its kernel holds fewer blocks per multiprocessor, which hides less memory
 * latency ---- */

enum {
	BLOCK_THREADS = 256,     /* threads; assumed, because no launch shape is known yet */
	MAX_COMPILE_NS = 500 * 1000000, /* recompile only twins that compiled in less time, */
	MAX_TEXT_SIZE = 160 << 10, /* or, if the time is unknown, have less text: ptxas 13.0 takes 0.1 s for 50 KiB */
	MAX_EXTRA_LOCAL_BYTES = 8, /* more bytes of local memory per lane are acceptable for a quarter more blocks */
};

static int blocks_held(CUfunction f)
{
	int n = 0;

	return f && cuda_next.cuOccupancy && !cuda_next.cuOccupancy(&n, f, BLOCK_THREADS, 0) ? n : 0;
}

/* Is the twin better than one with `now` blocks and `bytes` of local memory per lane? A recursive kernel may not use
 * more. */
static bool holds_more(const struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what, int now, int bytes)
{
	int n = blocks_held(t->f);

	if (n >= now + (now + 3) / 4 && !(what->flags & GPUBPF_TWIN_RECURSES))
		bytes += MAX_EXTRA_LOCAL_BYTES;
	return n > now && attribute(FUNC_LOCAL, t->f) <= bytes;
}

/* Recompile the text with a register limit that allows one more block, if that many blocks of the original fit. Use
 * the result if it is better. */
static CUresult recompile_for_blocks(struct module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what)
{
	int now = blocks_held(t->f), bytes = attribute(FUNC_LOCAL, t->f), all = t->unit_registers;
	enum gpubpf_compiled_by by = m->compiled_by;
	CUmodule before = m->module;
	struct gpubpf_reason why;

	if (!now || now >= blocks_held(cuda_function_in_context(t->original, t->context)))
		return 0;
	m->module = NULL;
	if (!compile(m, m->text, all / ((now + 1) * BLOCK_THREADS) & ~7, &why) && !find_kernel(m, t, what) &&
	    holds_more(t, what, now, bytes)) {
		cuda_direct.module_unload(before);
		return 0;
	}
	if (m->module)
		cuda_direct.module_unload(m->module);
	m->module = before;
	m->compiled_by = by;
	return find_kernel(m, t, what);
}

static bool is_compile_cheap(const struct module *m, uint64_t ns)
{
	return m->compiled_by == GPUBPF_BY_RUNTIME ? m->load_ns + ns < MAX_COMPILE_NS :
	       strlen(m->text) <= MAX_TEXT_SIZE;
}

/* The caller has made the module's context current and holds the lock of its one kernel. Returns 0, or refuses. */
static int bind_kernel(struct module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what,
		       struct gpubpf_reason *why)
{
	uint64_t from = gpubpf_now_ns();
	CUresult error = find_kernel(m, t, what);
	int err;

	if (error && m->text && m->compiled_by == GPUBPF_BY_ASSEMBLER) {
		err = recompile_text(m, why);
		if (err < 0)
			return err;
		error = find_kernel(m, t, what);
	}
	if (!error && m->text && cuda_next.cuFuncGetAttribute && is_compile_cheap(m, gpubpf_now_ns() - from))
		error = recompile_for_blocks(m, t, what);
	free(m->text);
	m->text = NULL;
	t->compiled_by = m->compiled_by;
	return error ? refuse(why, "the twin", what->name, error) : 0;
}

/* A recursive kernel has the stack limit that the program set, and may use all of it. For other kernels the driver
 * computes the stack size. */
static bool frame_fits(const struct cuda_twin_handle *t, int frame[2])
{
	frame[0] = frame[1] = 0;
	if (cuda_next.cuFuncGetAttribute) {
		frame[0] = attribute_of_original(FUNC_LOCAL, t);
		cuda_next.cuFuncGetAttribute(&frame[1], FUNC_LOCAL, t->f);
	}
	return frame[1] <= frame[0];
}

static int twin_kernel(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		       struct gpubpf_reason *why)
{
	struct module *m = module;
	struct cuda_twin_handle *t = calloc(1, sizeof(*t));
	int err, mode, frame[2] = { 0, 0 };
	CUresult error;

	if (!t)
		return -ENOMEM;
	t->original = m->original;
	t->context = m->context;
	t->cache_config = CUDA_UNSET;
	for (int i = 0; i < CUDA_ATTRIBUTES; i++)
		t->attribute[i] = CUDA_UNSET;
	error = cuda_enter(&cuda_direct, m->context, &mode);
	err = error ? refuse(why, "the twin", what->name, error) : bind_kernel(m, t, what, why);
	if (!err && (what->flags & GPUBPF_TWIN_RECURSES) && !frame_fits(t, frame)) {
		snprintf(why->text, sizeof(why->text),
			 "it calls a function that calls itself, and its twin needs %d bytes of stack per thread "
			 "instead of %d, which may exceed the program's stack limit",
			 frame[1], frame[0]);
		err = -EOPNOTSUPP;
	}
	if (!error)
		cuda_leave(&cuda_direct, &mode);
	if (err < 0) {
		free(t);
		return err;
	}
	t->base.handle = t->f;
	gpubpf_handles_add(&twins, &t->base);
	*twin = t;
	return 0;
}

static void twin_registers(void *twin, uint32_t *before, uint32_t *after)
{
	const struct cuda_twin_handle *t = twin;

	*before = t->registers[0];
	*after = t->registers[1];
}

static enum gpubpf_compiled_by twin_compiled_by(const void *twin)
{
	const struct cuda_twin_handle *t = twin;

	return t->compiled_by;
}

static bool twin_kept(const void *twin)
{
	const struct cuda_twin_handle *t = twin;

	return atomic_load_explicit(&t->kept, memory_order_relaxed);
}

const struct cuda_twin_handle *cuda_twin_find(CUfunction twin)
{
	return (struct cuda_twin_handle *)gpubpf_handles_find(&twins, twin);
}

static void end_of_context(struct gpubpf_handle *record, void *context)
{
	if (((struct cuda_twin_handle *)record)->context == context)
		atomic_store(&record->handle, NULL);
}

void cuda_twins_end(CUcontext context)
{
	gpubpf_handles_each(&twins, end_of_context, context);
}

/* The record stays, since look-ups take no lock. */
static void twin_kernel_put(void *twin)
{
	struct cuda_twin_handle *t = twin;

	atomic_store(&t->base.handle, NULL);
}

const struct gpubpf_hook_ops cuda_hook_ops = {
	.backend = "cuda",
	.device = &gpubpf_device_cuda,
	.image = image,
	.image_put = image_put,
	.twin_load = twin_load,
	.twin_kernel = twin_kernel,
	.twin_registers = twin_registers,
	.twin_compiled_by = twin_compiled_by,
	.twin_kept = twin_kept,
	.twin_kernel_put = twin_kernel_put,
	.twin_unload = twin_unload,
};
