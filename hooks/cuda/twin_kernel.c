/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: finds a twin's kernel in the twin's module and initializes the module's variables. Recompiles the PTX with a
 * register limit if more blocks then run at once. Holds the records of twins.
 * Before: the module is loaded.
 * After: launches can use the twin.
 * Requires: the caller holds the kernel's lock and uses the device.
 */
#include "twin.h"

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

static struct gpubpf_handles twins = GPUBPF_HANDLES_INIT;

/* Get the device address of one of the twin's variables. If the twin does not define it, *at is 0. */
static CUresult find_word(const struct cuda_twin_module *m, enum symbol word, CUdeviceptr *at)
{
	CUresult error = CUDA_ERROR_NOT_FOUND;
	size_t size;

	if (m->symbol_mask >> word & 1)
		error = cuda_direct.module_global(at, &size, m->module, cuda_twin_symbols[word]);
	if (error)
		*at = 0;
	return error == CUDA_ERROR_NOT_FOUND ? 0 : error;
}

static CUresult store_at(CUdeviceptr at, uint64_t value)
{
	return at ? cuda_copy_to(&cuda_direct, at, &value, sizeof(value)) : 0;
}

static CUresult store_if_defined(const struct cuda_twin_module *m, enum symbol word, uint64_t value)
{
	CUdeviceptr at;
	CUresult error = find_word(m, word, &at);

	return error ? error : store_at(at, value);
}

/* Find the twin's variables and initialize them. */
static CUresult store_words(struct cuda_twin_module *m, struct cuda_twin_handle *t, uint64_t kernel)
{
	/*
	 * Graph launches write no variables, so probes in graphs read this initial value: the id of this process and
	 * thread.
	 */
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

/*
 * Find the size of the twin's static shared memory and the limit of its dynamic shared memory. A twin that counts the
 * lanes of a block has more static shared memory than the original, so less is left for dynamic shared memory.
 */
static void find_shared(struct cuda_twin_handle *t, CUdevice device)
{
	int all = 0; /* 0: the driver does not know the attribute */

	t->max_added_shared = -1;
	if (cuda_next.cuFuncGetAttribute && !cuda_next.cuFuncGetAttribute(&t->shared, FUNC_SHARED, t->f) &&
	    !cuda_direct.device_attribute(&all, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device) &&
	    all > t->shared)
		t->max_added_shared = all - t->shared;
}

/* Returns an attribute of a function; INT_MAX: unknown. */
static int attribute(int which, CUfunction f)
{
	int value = 0;

	return cuda_next.cuFuncGetAttribute(&value, which, f) ? INT_MAX : value;
}

/* Returns an attribute of the original; 0: unknown, or the application has unloaded the original. */
static int attribute_of_original(int which, const struct cuda_twin_handle *t)
{
	CUfunction original = cuda_function_in_context(t->original, t->context);
	int value = original ? attribute(which, original) : INT_MAX;

	return value == INT_MAX ? 0 : value;
}

/* Round up to the device's allocation unit, 8 registers per thread. */
static int round_registers(int registers)
{
	return registers > INT_MAX - 7 ? registers : (registers + 7) & ~7;
}

/*
 * Returns true if the flat variant uses no more registers and memory than the twin. Then it fits wherever the twin
 * fits.
 */
static bool is_as_small(CUfunction flat, CUfunction f)
{
	return round_registers(attribute(FUNC_REGISTERS, flat)) <= round_registers(attribute(FUNC_REGISTERS, f)) &&
	       attribute(FUNC_LOCAL, flat) <= attribute(FUNC_LOCAL, f) &&
	       attribute(FUNC_SHARED, flat) <= attribute(FUNC_SHARED, f);
}

static void find_flat(struct cuda_twin_module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what)
{
	char name[GPUBPF_WHOLE_NAME_SIZE + sizeof(CUDA_FLAT_SUFFIX)];

	t->flat = NULL;
	if (!cuda_next.cuFuncGetAttribute || !(m->symbol_mask >> FLAT & 1) ||
	    (size_t)snprintf(name, sizeof(name), "%s" CUDA_FLAT_SUFFIX, what->name) >= sizeof(name) ||
	    cuda_direct.module_function(&t->flat, m->module, name) || !is_as_small(t->flat, t->f))
		t->flat = NULL;
}

/* Find the twin's kernel and its flat variant in the module. The caller has made the module's context current. */
static CUresult find_kernel(struct cuda_twin_module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what)
{
	CUresult error = cuda_direct.module_function(&t->f, m->module, what->name);
	CUdevice device;

	if (!error)
		error = store_words(m, t, what->kernel);
	if (!error)
		error = cuda_direct.ctx_device(&device);
	if (!error)
		error = cuda_direct.device_attribute(&t->unit_registers,
						     CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device);
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

/*
 * ---- recompiling: if a twin needs more registers than the original, fewer of its blocks run per multiprocessor, and
 * fewer blocks hide less memory latency ----
 */

enum {
	BLOCK_THREADS = 256,            /* assumed threads per block, since no launch has happened yet */
	MAX_COMPILE_NS = 500 * 1000000, /* recompile only a twin whose first compilation took less time (ns) */
	/*
	 * recompile only up to this size (bytes of PTX) if the compile time is unknown; ptxas 13.0 takes 0.1 s for 50
	 * KiB
	 */
	MAX_TEXT_SIZE = 160 << 10,
	/* additional local memory per lane that is acceptable for a quarter more blocks */
	MAX_EXTRA_LOCAL_BYTES = 8,
};

static int blocks_held(CUfunction f)
{
	int n = 0;

	return f && cuda_next.cuOccupancy && !cuda_next.cuOccupancy(&n, f, BLOCK_THREADS, 0) ? n : 0;
}

/*
 * Returns true if the recompiled twin is better than the previous one, which had `now` blocks per multiprocessor and
 * `bytes` of local memory per lane. The twin of a recursive kernel may not use more local memory.
 */
static bool holds_more(const struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what, int now, int bytes)
{
	int n = blocks_held(t->f);

	if (n >= now + (now + 3) / 4 && !(what->flags & GPUBPF_TWIN_RECURSES))
		bytes += MAX_EXTRA_LOCAL_BYTES;
	return n > now && attribute(FUNC_LOCAL, t->f) <= bytes;
}

/*
 * If more blocks of the original than of the twin fit on a multiprocessor, recompile the PTX with a register limit that
 * allows one more block. Use the result if it is better (holds_more()).
 */
static CUresult recompile_for_blocks(struct cuda_twin_module *m, struct cuda_twin_handle *t,
				     const struct gpubpf_hook_twin *what)
{
	int now = blocks_held(t->f), bytes = attribute(FUNC_LOCAL, t->f), all = t->unit_registers;
	enum gpubpf_compiled_by by = m->compiled_by;
	CUmodule before = m->module;
	struct gpubpf_reason why;

	if (!now || now >= blocks_held(cuda_function_in_context(t->original, t->context)))
		return 0;
	m->module = NULL;
	if (!cuda_twin_compile(m, m->text, all / ((now + 1) * BLOCK_THREADS) & ~7, &why) && !find_kernel(m, t, what) &&
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

static bool is_compile_cheap(const struct cuda_twin_module *m, uint64_t ns)
{
	return m->compiled_by == GPUBPF_BY_RUNTIME ? m->load_ns + ns < MAX_COMPILE_NS : strlen(m->text) <= MAX_TEXT_SIZE;
}

/*
 * Prepare the twin's kernel for launches. The caller has made the module's context current and holds the kernel's lock.
 * Returns 0, or a negative errno value with the reason in *why.
 */
static int bind_kernel(struct cuda_twin_module *m, struct cuda_twin_handle *t, const struct gpubpf_hook_twin *what,
		       struct gpubpf_reason *why)
{
	uint64_t from = gpubpf_now_ns();
	CUresult error = find_kernel(m, t, what);
	int err;

	if (error && m->text && m->compiled_by == GPUBPF_BY_ASSEMBLER) {
		err = cuda_twin_recompile(m, why);
		if (err < 0)
			return err;
		error = find_kernel(m, t, what);
	}
	if (!error && m->text && cuda_next.cuFuncGetAttribute && is_compile_cheap(m, gpubpf_now_ns() - from))
		error = recompile_for_blocks(m, t, what);
	free(m->text);
	m->text = NULL;
	t->compiled_by = m->compiled_by;
	return error ? cuda_twin_refuse(why, "the twin", what->name, error) : 0;
}

/*
 * Returns true if the twin needs no larger stack frame than the original. Only recursive kernels are checked, since
 * they may use up the stack limit that the application set. For other kernels the driver computes the stack size.
 */
static bool frame_fits(const struct cuda_twin_handle *t, int frame[2])
{
	frame[0] = frame[1] = 0;
	if (cuda_next.cuFuncGetAttribute) {
		frame[0] = attribute_of_original(FUNC_LOCAL, t);
		cuda_next.cuFuncGetAttribute(&frame[1], FUNC_LOCAL, t->f);
	}
	return frame[1] <= frame[0];
}

/*
 * Query the settings of an older function, which the application may have made before the attach. The table lists
 * attributes that can be set, and their defaults (CUDA driver API, CUfunction_attribute).
 */
static void learn_attributes(const struct cuda_twin_handle *t)
{
	static const int attributes[][2] = { { 9, -1 }, { 11, 0 }, { 12, 0 }, { 13, 0 }, { 14, 0 }, { 15, 0 } };
	struct cuda_function *settings = cuda_function_settings(t->original);
	CUfunction f = t->original->module->is_older ? cuda_function_in_context(t->original, t->context) : NULL;

	for (size_t i = 0; f && cuda_next.cuFuncGetAttribute && i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		int value = attributes[i][1], unset = CUDA_UNSET;

		if (!cuda_next.cuFuncGetAttribute(&value, attributes[i][0], f) && value != attributes[i][1])
			atomic_compare_exchange_strong(&settings->attribute[attributes[i][0]], &unset, value);
	}
}

int cuda_twin_create(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		     struct gpubpf_reason *why)
{
	struct cuda_twin_module *m = module;
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
	err = error ? cuda_twin_refuse(why, "the twin", what->name, error) : bind_kernel(m, t, what, why);
	if (!err && (what->flags & GPUBPF_TWIN_RECURSES) && !frame_fits(t, frame)) {
		snprintf(why->text, sizeof(why->text),
			 "it calls a recursive function, and its twin needs %d bytes of stack per thread instead of "
			 "%d, which may exceed the stack limit that the application set",
			 frame[1], frame[0]);
		err = -EOPNOTSUPP;
	}
	if (!error)
		cuda_leave(&cuda_direct, &mode);
	if (err < 0) {
		free(t);
		return err;
	}
	learn_attributes(t);
	t->base.handle = t->f;
	gpubpf_handles_add(&twins, &t->base);
	*twin = t;
	return 0;
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

void cuda_twins_forget(void)
{
	gpubpf_handles_clear(&twins);
}

/* Release the twin. Its record stays allocated, since look-ups take no lock. */
void cuda_twin_put(void *twin)
{
	struct cuda_twin_handle *t = twin;

	atomic_store(&t->base.handle, NULL);
}
