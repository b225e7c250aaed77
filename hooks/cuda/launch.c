/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches. The launch path selects the original or a twin. The adapter launches a twin only if the twin fits on
 * the device as the original would. If the driver refuses the twin, the original runs. The application sees only errors
 * of the original.
 */
#include "cuda.h"

#include <errno.h>
#include <stdlib.h>

enum {
	FUNC_DYNAMIC_SHARED = 8,         /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
	DEFAULT_SHARED_SIZE = 48 * 1024, /* bytes of shared memory that a block can use without FUNC_DYNAMIC_SHARED */
	/* streams up to CU_STREAM_PER_THREAD (2) are special streams of the current context */
	NAMED_STREAMS = 2,
};

static const char graph_reason[] = "recorded in a CUDA graph; in a session of gpubpf attach, kernels in graphs are not "
				   "probed; start the program with gpubpf run";

/* ---- does the twin fit? ---- */

/* Record a setting of the twin. The number of blocks that fit at once may have changed, so drop its cached value. */
static void note_setting(struct cuda_twin_handle *t, atomic_int *has, int value)
{
	atomic_store_explicit(has, value, memory_order_relaxed);
	atomic_store_explicit(&t->fit.known, 0, memory_order_relaxed);
}

static bool mirror(struct cuda_twin_handle *t, int attribute, int want)
{
	if (want == CUDA_UNSET || atomic_load_explicit(&t->attribute[attribute], memory_order_relaxed) == want)
		return true;
	if (cuda_next.cuFuncSetAttribute(t->f, attribute, want) ||
	    (t->flat && cuda_next.cuFuncSetAttribute(t->flat, attribute, want)))
		return false;
	note_setting(t, &t->attribute[attribute], want);
	return true;
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

/*
 * Returns the value of the attribute for the twin. It is the value that the application set for the original, limited
 * to the dynamic shared memory that the twin can have on the device.
 */
static int wanted_value(const struct cuda_twin_handle *t, const struct cuda_function *settings, int attribute)
{
	int value = atomic_load_explicit(&settings->attribute[attribute], memory_order_relaxed);

	return attribute == FUNC_DYNAMIC_SHARED && t->max_added_shared >= 0 ? min_int(value, t->max_added_shared) : value;
}

/* Copy the application's settings of the original to the twin. */
static bool mirror_attributes(struct cuda_twin_handle *t)
{
	struct cuda_function *f = cuda_function_settings(t->original);
	int config = atomic_load_explicit(&f->cache_config, memory_order_relaxed);

	for (int i = 0; i < CUDA_ATTRIBUTES; i++)
		if (!mirror(t, i, wanted_value(t, f, i)))
			return false;
	if (config != CUDA_UNSET && atomic_load_explicit(&t->cache_config, memory_order_relaxed) != config) {
		if (cuda_next.cuFuncSetCacheConfig(t->f, config) ||
		    (t->flat && cuda_next.cuFuncSetCacheConfig(t->flat, config)))
			return false;
		note_setting(t, &t->cache_config, config);
	}
	return true;
}

/*
 * Raise the twin's limit for dynamic shared memory if the launch needs more than 48 KiB together with the twin's static
 * shared memory. This is needed in two cases. Either the application raised the original's limit by a call that the
 * agent does not intercept, or only the twin exceeds 48 KiB.
 */
static bool allow_shared(struct cuda_twin_handle *t, const struct cuda_call *c)
{
	CUfunction original;
	int allowed = 0;

	if (t->max_added_shared >= 0 && c->shared > (unsigned)t->max_added_shared)
		return false;
	if (c->shared + (uint64_t)t->shared <= DEFAULT_SHARED_SIZE ||
	    atomic_load_explicit(&t->attribute[FUNC_DYNAMIC_SHARED], memory_order_relaxed) >= (int)c->shared)
		return true;
	original = cuda_function_in_context(t->original, t->context);
	if (!original || cuda_next.cuFuncGetAttribute(&allowed, FUNC_DYNAMIC_SHARED, original) || allowed < (int)c->shared)
		return false;
	return mirror(t, FUNC_DYNAMIC_SHARED, t->max_added_shared >= 0 ? min_int(allowed, t->max_added_shared) : allowed);
}

struct fitting {
	const struct cuda_call *call;
	const struct cuda_twin_handle *twin;
};

static int blocks_held(const void *arg, bool twin, int *n)
{
	const struct fitting *f = arg;
	const struct cuda_call *c = f->call;
	int mode, threads = c->block[0] * c->block[1] * c->block[2];
	CUresult error;

	if (!cuda_next.cuOccupancy)
		return CUDA_ERROR_NOT_FOUND;
	error = cuda_enter(&cuda_direct, f->twin->context, &mode);
	if (error)
		return error;
	error = cuda_next.cuOccupancy(n, twin ? f->twin->f : c->f, threads, c->shared);
	cuda_leave(&cuda_direct, &mode);
	return error;
}

/* Returns the number of multiprocessors of the stream's green context, 0 for the whole device, or < 0 if unknown. */
static int count_multiprocessors(const void *arg)
{
	const struct fitting *f = arg;
	struct cuda_resource r = { 0 };
	CUgreenCtx green = NULL;

	if (cuda_next.cuStreamGetGreenCtx)
		cuda_next.cuStreamGetGreenCtx(f->call->stream, &green);
	if (!green)
		return 0;
	if (!cuda_next.cuGreenCtxGetDevResource || cuda_next.cuGreenCtxGetDevResource(green, &r, CUDA_RESOURCE_SM))
		return -1;
	return r.type == CUDA_RESOURCE_SM && r.sms && (int)r.sms <= f->twin->fit.units ? (int)r.sms : -1;
}

static bool fits(struct cuda_twin_handle *t, const struct cuda_call *c)
{
	struct fitting fitting = { c, t };
	uint64_t grid = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
	uint32_t threads = c->block[0] * c->block[1] * c->block[2];

	return mirror_attributes(t) && allow_shared(t, c) &&
	       gpubpf_hook_fits(&t->fit, grid, threads, c->shared, blocks_held, count_multiprocessors, &fitting);
}

/*
 * Returns a register limit per GPU thread that lets as many blocks of the twin run at once as the launch needs. Returns
 * 0 if no register limit helps. The device allocates registers per warp, in units of 256. Each quarter of a
 * multiprocessor has a quarter of the registers.
 */
static uint32_t register_limit(const struct cuda_twin_handle *t, const struct cuda_call *c)
{
	uint64_t grid = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
	uint32_t warps = (c->block[0] * c->block[1] * c->block[2] + 31) / 32;
	struct fitting fitting = { c, t };
	int held = 0, units = count_multiprocessors(&fitting);
	uint64_t blocks, all, registers;

	units = units ? units : t->fit.units;
	if (!warps || units < 0 || blocks_held(&fitting, false, &held) || held <= 0)
		return 0;
	blocks = grid > (uint64_t)held * units ? 1 : (grid + units - 1) / units;
	all = (blocks * warps + 3) & ~3ull;
	registers = all ? t->unit_registers / (all * 32) & ~7ull : 0;
	return registers < (uint64_t)t->registers[1] ? registers : 0;
}

/* ---- the launch ---- */

static bool has_explicit_stream(const struct cuda_call *c)
{
	return !c->node && (uintptr_t)c->stream > NAMED_STREAMS;
}

/*
 * Returns the context in which the driver will run the launch. A CUfunction runs in its own context. A CUkernel runs in
 * the context of the graph node or of the stream. If there is no such context, or if the stream belongs to a green
 * context, the CUkernel runs in the current context.
 */
static CUcontext context_of(const struct cuda_call *c, const struct cuda_function *f)
{
	CUcontext context = f->context ? f->context : c->context;
	CUgreenCtx green = NULL;

	if (!context && has_explicit_stream(c) && cuda_next.cuStreamGetCtx &&
	    (cuda_next.cuStreamGetCtx(c->stream, &context, &green) || green))
		context = NULL;
	if (!context)
		cuda_next.cuCtxGetCurrent(&context);
	return context;
}

static bool captured(const struct cuda_call *c)
{
	CUresult (*ask)(CUstream, int *) = c->per_thread ? cuda_next.cuStreamIsCapturing_ptsz :
							   cuda_next.cuStreamIsCapturing;
	int status = 0;

	return ask && !ask(c->stream, &status) && status;
}

/*
 * Report once that probes in CUDA graphs read a stale launch number, since graph launches do not write it
 * (include/gpubpf/ctx.h).
 */
static void warn_of_graphs(void)
{
	static atomic_bool warned;

	if (!atomic_load_explicit(&warned, memory_order_relaxed) && !atomic_exchange(&warned, true))
		gpubpf_log_once("probes in CUDA graphs read a stale launch number: that of the kernel's last launch "
				"outside of graphs");
}

static void warn_of_streams(struct cuda_twin_handle *t, const struct cuda_call *c)
{
	static atomic_bool warned;
	uintptr_t none = 0, stream = (uintptr_t)c->stream + 1;

	if (atomic_load_explicit(&warned, memory_order_relaxed) ||
	    atomic_compare_exchange_strong(&t->stream, &none, stream) || none == stream)
		return;
	if (!atomic_exchange(&warned, true))
		gpubpf_log_once("kernels are launched in several streams: where launches of one kernel overlap, its "
				"probes may read the launch number of another launch");
}

/*
 * Returns true if the launch's stream belongs to the twin's context. A default stream belongs to the current context,
 * which may differ from the twin's.
 */
static bool is_own_stream(const struct cuda_call *c, const struct cuda_twin_handle *t)
{
	CUcontext current = NULL;

	return has_explicit_stream(c) || (!cuda_next.cuCtxGetCurrent(&current) && current == t->context);
}

typedef CUresult write_word(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);

/*
 * Write the clock's offset to the twin's variable in stream order. Errors are ignored: then timestamps use the previous
 * offset.
 */
static void write_offset(const struct cuda_call *c, uint64_t offset, struct cuda_twin_handle *t, write_word *write)
{
	atomic_store_explicit(&t->offset, offset, memory_order_relaxed);
	if (write)
		write(c->stream, t->clock, offset, 0);
}

/*
 * Write the twin's variables (launch number, process id, clock offset) in stream order before the launch. During a
 * stream capture nothing is written, because the graph must contain only the application's nodes. A graph that the
 * device launches may contain only kernel nodes, and the application may compare the graph with another graph.
 */
static CUresult write_words(const struct cuda_call *c, const struct gpubpf_hook_launch *l, struct cuda_twin_handle *t)
{
	write_word *write = c->per_thread ? cuda_next.cuStreamWriteValue64_ptsz : cuda_next.cuStreamWriteValue64;
	uint64_t offset = t->clock ? gpubpf_hook_device_clock_offset(l->device) : 0;
	bool stale = t->clock && atomic_load_explicit(&t->offset, memory_order_relaxed) != offset;
	CUresult error = 0;

	if (!(t->launch || t->pid || stale))
		return 0;
	if (c->node || captured(c)) {
		if (t->launch)
			warn_of_graphs();
		return 0;
	}
	if (!is_own_stream(c, t))
		return t->launch || t->pid ? CUDA_ERROR_INVALID_CONTEXT : 0;
	if (!write && (t->launch || t->pid))
		return CUDA_ERROR_NOT_FOUND;
	if (t->launch)
		warn_of_streams(t, c);
	if (t->launch)
		error = write(c->stream, t->launch, l->number, 0);
	if (!error && t->pid)
		error = write(c->stream, t->pid, l->pid_tgid, 0);
	if (!error && stale)
		write_offset(c, offset, t, write);
	return error;
}

/*
 * Returns true if the launch may use the twin's flat variant. The launch must be one-dimensional. It must not become a
 * graph node, because the application may change a node's grid later.
 */
static bool is_flat(const struct cuda_call *c)
{
	return c->grid[1] == 1 && c->grid[2] == 1 && c->block[1] == 1 && c->block[2] == 1 && !c->node && !captured(c);
}

static int launch_twin(const void *call, struct gpubpf_hook_launch *l)
{
	struct cuda_twin_handle *t = l->twin;
	const struct cuda_call *c = call;
	CUresult refused;

	if (!fits(t, c)) {
		l->registers = register_limit(t, c);
		return GPUBPF_TWIN_NO_ROOM;
	}
	if (c->node || cuda_capture_open()) {
		atomic_store_explicit(&t->is_in_graph, true, memory_order_relaxed);
		gpubpf_hook_untracked_launch(l->device);
	}
	refused = write_words(c, l, t);
	return refused ? refused : c->run(c, t->flat && is_flat(c) ? t->flat : t->f);
}

static int launch_original(const void *call)
{
	const struct cuda_call *c = call;

	return c->run(c, c->f);
}

/* Launch the original, and count the launch as missed. */
static CUresult launch_unprobed(const struct cuda_call *c, const struct gpubpf_hook_launch *l, const char *reason)
{
	CUresult error = c->run(c, c->f);
	struct gpubpf_hook_record *record = error ? NULL : gpubpf_hook_record_create(l, reason);

	if (record)
		gpubpf_hook_record_launched(record);
	free(record);
	return error;
}

/*
 * Returns true if the launch becomes a node of a graph in an attached session. The graph would keep the twin, which
 * ends with the session. Notes a capture that began before the attach.
 */
static bool is_recorded_while_attached(const struct cuda_call *c)
{
	if (!gpubpf_hook_attached())
		return false;
	if (c->node)
		return true;
	if (!captured(c))
		return false;
	if (!cuda_capture_open())
		cuda_capture_begin();
	return true;
}

/* The driver reports the size of an argument for a CUfunction since CUDA 12.4. */
int cuda_argument(const struct gpubpf_hook_launch *l, uint32_t index, uint64_t *value)
{
	const struct cuda_call *c = l->call;
	struct cuda_function *f = c && c->params && cuda_next.cuFuncGetParamInfo ? cuda_function_find(c->f) : NULL;
	size_t offset, size = 0;

	if (!f || !f->context || cuda_next.cuFuncGetParamInfo(c->f, index, &offset, &size) || size > sizeof(*value))
		return -EOPNOTSUPP;
	*value = 0;
	memcpy(value, c->params[index], size);
	return 0;
}

static void warn_of_unknown(void)
{
	if (cuda_active() && gpubpf_hook_attached())
		gpubpf_log_once("the CUDA driver does not name functions that were looked up before the attach (CUDA 12.3 and "
				"later do); their launches are neither probed nor counted");
}

CUresult cuda_launch(const struct cuda_call *c)
{
	struct cuda_function *f = cuda_active() ? cuda_function_find(c->f) : NULL;
	struct gpubpf_hook_launch l = { .kernel = f ? f->kernel : NULL, .dim = 3, .call = c };
	CUresult error;

	l.function = c->function;
	l.stream = (uintptr_t)c->stream;
	l.is_node = c->node;
	if (!f)
		warn_of_unknown();
	if (!f || !(l.device = cuda_device_of(context_of(c, f))) || !cuda_function_use(f))
		return c->run(c, c->f);
	for (int i = 0; i < 3; i++) {
		l.grid[i] = (size_t)c->grid[i] * c->block[i];
		l.block[i] = c->block[i];
	}
	if (is_recorded_while_attached(c))
		error = launch_unprobed(c, &l, graph_reason);
	else
		error = gpubpf_hook_launch_run(&l, launch_twin, launch_original, c);
	cuda_function_leave(f);
	return error;
}

void cuda_function_prefetch(void *handle)
{
	struct cuda_function *f = cuda_active() ? cuda_function_find(handle) : NULL;
	CUcontext context = f ? f->context : NULL;
	struct gpubpf_hook_device *device;

	if (f && !context)
		cuda_next.cuCtxGetCurrent(&context);
	device = context ? cuda_device_of(context) : NULL;
	if (!device || !cuda_function_use(f))
		return;
	gpubpf_hook_kernel_prefetch(f->kernel, device);
	cuda_function_leave(f);
}

struct kernel_args {
	CUresult (*next)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
			 void **, void **);
	void **params, **extra;
};

static CUresult run_kernel(const struct cuda_call *c, CUfunction f)
{
	const struct kernel_args *p = c->arguments;

	return p->next(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
		       c->stream, p->params, p->extra);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			unsigned shared, CUstream stream, void **params, void **extra)
{
	struct kernel_args p = { cuda_next_init() ? cuda_next.cuLaunchKernel : NULL, params, extra };
	struct cuda_call c = { f,  { gx, gy, gz }, { bx, by, bz }, shared, stream,          false, false,
			       &p, run_kernel,     NULL,           params, "cuLaunchKernel" };

	return p.next ? cuda_launch(&c) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			     unsigned shared, CUstream stream, void **params, void **extra)
{
	struct kernel_args p = { cuda_next_init() ? cuda_next.cuLaunchKernel_ptsz : NULL, params, extra };
	struct cuda_call c = { f,    { gx, gy, gz }, { bx, by, bz },       shared, stream, true, false, &p, run_kernel,
			       NULL, params,         "cuLaunchKernel_ptsz" };

	return p.next ? cuda_launch(&c) : CUDA_ERROR_NOT_FOUND;
}

struct cooperative {
	CUresult (*next)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
			 void **);
	void **params;
};

static CUresult run_cooperative(const struct cuda_call *c, CUfunction f)
{
	const struct cooperative *p = c->arguments;

	return p->next(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
		       c->stream, p->params);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
				   unsigned bz, unsigned shared, CUstream stream, void **params)
{
	struct cooperative p = { cuda_next_init() ? cuda_next.cuLaunchCooperativeKernel : NULL, params };
	struct cuda_call c = {
		f, { gx, gy, gz }, { bx, by, bz }, shared, stream, false, false, &p, run_cooperative, NULL, params, "cuLaunchCooperativeKernel"
	};

	return p.next ? cuda_launch(&c) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					unsigned bz, unsigned shared, CUstream stream, void **params)
{
	struct cooperative p = { cuda_next_init() ? cuda_next.cuLaunchCooperativeKernel_ptsz : NULL, params };
	struct cuda_call c = {
		f, { gx, gy, gz }, { bx, by, bz }, shared, stream, true, false, &p, run_cooperative, NULL, params, "cuLaunchCooperativeKernel_ptsz"
	};

	return p.next ? cuda_launch(&c) : CUDA_ERROR_NOT_FOUND;
}

struct configured {
	CUresult (*next)(const CUlaunchConfig *, CUfunction, void **, void **);
	const CUlaunchConfig *config;
	void **params, **extra;
	const char *function;
};

static CUresult run_configured(const struct cuda_call *c, CUfunction f)
{
	const struct configured *p = c->arguments;

	return p->next(p->config, f, p->params, p->extra);
}

static CUresult launch_configured(const struct configured *p, CUfunction f, bool per_thread)
{
	const CUlaunchConfig *k = p->config;
	struct cuda_call c = { .f = f,
			       .per_thread = per_thread,
			       .arguments = p,
			       .run = run_configured,
			       .params = p->params,
			       .function = p->function };

	if (!k) /* the driver reports the error for a NULL pointer */
		return p->next(k, f, p->params, p->extra);
	c.grid[0] = k->gx;
	c.grid[1] = k->gy;
	c.grid[2] = k->gz;
	c.block[0] = k->bx;
	c.block[1] = k->by;
	c.block[2] = k->bz;
	c.shared = k->shared;
	c.stream = k->stream;
	return cuda_launch(&c);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct configured p = { cuda_next_init() ? cuda_next.cuLaunchKernelEx : NULL, config, params, extra,
				"cuLaunchKernelEx" };

	return p.next ? launch_configured(&p, f, false) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct configured p = { cuda_next_init() ? cuda_next.cuLaunchKernelEx_ptsz : NULL, config, params, extra,
				"cuLaunchKernelEx_ptsz" };

	return p.next ? launch_configured(&p, f, true) : CUDA_ERROR_NOT_FOUND;
}
