/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks CUDA for a tool that attaches to this process (hooks/attach/attach.h). The hooks are the functions that the
 * agent exports. When the functions are patched, cuda_next and cuda_direct contain their moved beginnings, so the
 * agent's calls reach no hook.
 */
#include "attach.h"

#include <dlfcn.h>
#include <link.h>

#include "cuda.h"
#include "hooks/entries/entries.h"
#include "hooks/launch/attacher.h"
#include "hooks/process/dlsym.h"

#define WAIT_LEFT_NS 60000000000ull /* time limit in ns for the application's CUDA calls to return */
#define WAIT_TWINS_NS 60000000000ull /* time limit in ns for the running twins to end */

static atomic_bool is_attached;

/*
 * Returns the agent's own library. Its functions have the driver's names, so the dynamic linker may bind the agent's
 * references to the driver.
 */
static void *own_library(void)
{
	static const char here;
	struct link_map *map = NULL;
	Dl_info info;

	return dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL; /* glibc: a handle is a link map */
}

static bool is_driver_loaded(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (driver)
		dlclose(driver);
	return driver;
}

static void add_entries(void)
{
	gpubpf_dlsym_fn find = gpubpf_dlsym_next();
	static bool is_added;
	void *own = own_library();

	if (is_added || !own)
		return;
	is_added = true;
#define CUDA_CALL(symbol, parameters, arguments) \
	gpubpf_entry_add(#symbol, (void *)cuda_next.symbol, find(own, #symbol), (void **)&cuda_next.symbol);
#include "calls.def"
}

/* Let the agent's own calls go around the hooks. */
static void bypass_hooks(void)
{
#define CUDA_FN(member, symbol, arguments) \
	cuda_direct.member = (CUresult (*) arguments)gpubpf_entry_unhooked((void *)cuda_direct.member);
	CUDA_FUNCTIONS(CUDA_FN)
#undef CUDA_FN
}

/* Functions that begin or end a capture in most applications. */
#define CAPTURE_FUNCTIONS \
	"cuStreamBeginCapture", "cuStreamBeginCapture_ptsz", "cuStreamBeginCapture_v2", "cuStreamBeginCapture_v2_ptsz", \
		"cuStreamBeginCaptureToGraph", "cuStreamBeginCaptureToGraph_ptsz", "cuStreamEndCapture", \
		"cuStreamEndCapture_ptsz"

/*
 * Functions without which probing is unsafe: the agent must see the end of contexts and modules, and the beginning of
 * captures.
 */
static const char *const needed[] = {
	"cuCtxDestroy",
	"cuCtxDestroy_v2",
	"cuCtxDetach",
	"cuDevicePrimaryCtxRelease",
	"cuDevicePrimaryCtxReset",
	"cuDevicePrimaryCtxRelease_v2",
	"cuDevicePrimaryCtxReset_v2",
	"cuGreenCtxDestroy",
	"cuModuleUnload",
	"cuLibraryUnload",
	CAPTURE_FUNCTIONS,
	"cuLaunchKernel",
};

/* Functions that begin or end a capture. */
static const char *const captures[] = {
	CAPTURE_FUNCTIONS,
	"cuStreamBeginRecaptureToGraph",
	"cuStreamBeginRecaptureToGraph_ptsz",
	"cuStreamBeginCaptureToCig",
	"cuStreamBeginCaptureToCig_ptsz",
	"cuStreamEndCaptureToCig",
	"cuStreamEndCaptureToCig_ptsz",
};

/* Returns a needed function of this driver that is not hooked, or NULL. */
static const char *find_unhooked(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	const char *missing = NULL;

	for (size_t i = 0; driver && i < sizeof(needed) / sizeof(needed[0]) && !missing; i++) {
		void *function = gpubpf_dlsym_next()(driver, needed[i]);

		if (function && !gpubpf_entry_is_hooked(function))
			missing = needed[i];
	}
	if (driver)
		dlclose(driver);
	return missing;
}

static void attach(void)
{
	const char *missing;

	if (atomic_load(&is_attached) || !is_driver_loaded() || !cuda_next_init())
		return;
	atomic_store(&is_attached, true);
	cuda_twins_have_ended(false);
	add_entries();
	gpubpf_entries_patch();
	bypass_hooks();
	missing = find_unhooked();
	if (!missing) {
		gpubpf_entries_start();
		return;
	}
	gpubpf_entries_restore();
	if (gpubpf_hook_active())
		gpubpf_log_once("CUDA kernels run unprobed, because %s() cannot be hooked; start the program with gpubpf run",
				missing);
}

/*
 * The hooks of captures run until all twins have ended. The agent waits for the context, which it must not do during a
 * capture, and only a hook sees the end of a capture.
 */
static int detach(void)
{
	bool has_ended;
	uint32_t left;

	if (!atomic_exchange(&is_attached, false))
		return 0;
	gpubpf_entries_drain(captures, sizeof(captures) / sizeof(captures[0]));
	has_ended = gpubpf_entries_wait_left(WAIT_LEFT_NS) && cuda_contexts_wait(WAIT_TWINS_NS);
	left = gpubpf_entries_restore();
	if (!has_ended || !gpubpf_entries_wait_left(WAIT_LEFT_NS)) {
		gpubpf_log_once("a CUDA call or a kernel did not end within 60 s of the detach; no tool can attach to the process again");
		return -1;
	}
	cuda_captures_forget();
	cuda_twins_have_ended(true);
	cuda_modules_end_all();
	gpubpf_hook_devices_end(&cuda_hook_ops);
	return left;
}

static void forget(void)
{
	if (atomic_load(&is_attached))
		return;
	cuda_modules_forget();
	gpubpf_hook_devices_forget(&cuda_hook_ops);
	cuda_twins_forget();
	cuda_graphs_forget();
	cuda_contexts_forget();
}

static void after_fork(void)
{
	atomic_store(&is_attached, false);
	cuda_twins_have_ended(false);
	gpubpf_entries_after_fork();
}

const struct gpubpf_attacher cuda_attacher = { attach, detach, after_fork, forget };
