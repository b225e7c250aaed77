/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts a driver's dispatch tables. The loader looks up the functions zeGet<table>ProcAddrTable in each driver's
 * library by dlsym(), and gets the agent's functions instead. These let the driver fill the table and then replace
 * entries. Each driver has its own set of replacements, because a handle does not identify its driver. The loader and
 * its layers export functions of the same names, which the agent does not replace.
 */
#include "level_zero.h"

#include <dlfcn.h>
#include <string.h>

#include "hooks/process/dlsym.h"

/* ---- replacements of the driver's functions: one set per driver ---- */

#define LZ_CALL(table, member, parameters, arguments) \
	static ze_result_t ZE_APICALL in0_##table##member(parameters) { return lz_##table##member(&lz_drivers[0], arguments); }
#include "calls.def"
#undef LZ_CALL
#define LZ_CALL(table, member, parameters, arguments) \
	static ze_result_t ZE_APICALL in1_##table##member(parameters) { return lz_##table##member(&lz_drivers[1], arguments); }
#include "calls.def"
#undef LZ_CALL
#define LZ_CALL(table, member, parameters, arguments) \
	static ze_result_t ZE_APICALL in2_##table##member(parameters) { return lz_##table##member(&lz_drivers[2], arguments); }
#include "calls.def"
#undef LZ_CALL
#define LZ_CALL(table, member, parameters, arguments) \
	static ze_result_t ZE_APICALL in3_##table##member(parameters) { return lz_##table##member(&lz_drivers[3], arguments); }
#include "calls.def"
#undef LZ_CALL

/* ---- the tables ---- */

typedef ze_driver_dditable_t ddi_Driver;
typedef ze_device_dditable_t ddi_Device;
typedef ze_context_dditable_t ddi_Context;
typedef ze_mem_dditable_t ddi_Mem;
typedef ze_module_dditable_t ddi_Module;
typedef ze_module_build_log_dditable_t ddi_ModuleBuildLog;
typedef ze_kernel_dditable_t ddi_Kernel;
typedef ze_kernel_exp_dditable_t ddi_KernelExp;
typedef ze_command_list_dditable_t ddi_CommandList;
typedef ze_command_queue_dditable_t ddi_CommandQueue;
typedef ze_fence_dditable_t ddi_Fence;
typedef ze_event_dditable_t ddi_Event;

#define TABLES(F) \
	F(Driver) F(Device) F(Context) F(Mem) F(Module) F(ModuleBuildLog) F(Kernel) F(KernelExp) F(CommandList) \
	F(CommandListExp) F(CommandQueue) F(Fence) F(Event)

#define V(major, minor) ZE_MAKE_VERSION(major, minor)

enum table {
#define T(table) T_##table,
	TABLES(T)
#undef T
		NTABLES,
};

/*
 * Table entries that the agent reads. If `ours` is not NULL, the agent also replaces the entry. Entries that are only
 * read come first, so the agent gets the driver's functions and not its own.
 */
static const struct entry {
	enum table table;
	uint32_t since;    /* first version of the table that has this entry */
	size_t at, driver; /* byte offset of the entry in the dispatch table, and of its copy in struct lz_driver */
	void *ours[LZ_DRIVERS];
} entries[] = {
#define API(table, member) \
	{ T_##table, 0, offsetof(ddi_##table, pfn##member), offsetof(struct lz_driver, api.table##member), { NULL } },
	GPUBPF_ZE_FUNCTIONS(API)
#undef API
		{ T_KernelExp,
		  V(1, 1),
		  offsetof(ddi_KernelExp, pfnSetGlobalOffsetExp),
		  offsetof(struct lz_driver, api.KernelSetGlobalOffsetExp),
		  { NULL } },
#define OURS(name) { (void *)in0_##name, (void *)in1_##name, (void *)in2_##name, (void *)in3_##name }
#define LZ_CALL(table, member, parameters, arguments) \
	{ T_##table, 0, offsetof(ddi_##table, pfn##member), offsetof(struct lz_driver, next.table##member), \
	  OURS(table##member) },
#define LZ_LATER(table, member, since, index, parameters, arguments) \
	{ T_##table, since, index * sizeof(void *), offsetof(struct lz_driver, next.table##member), OURS(table##member) },
#include "calls.def"
#undef LZ_CALL
};

#define NENTRIES (sizeof(entries) / sizeof(*entries))

typedef ze_result_t(ZE_APICALL *fill_fn)(ze_api_version_t version, void *table);

static ze_result_t fill(struct lz_driver *d, enum table which, ze_api_version_t version, char *table)
{
	ze_result_t err = ((fill_fn)atomic_load(&d->fill[which]))(version, table);

	for (size_t i = 0; !err && i < NENTRIES; i++) {
		const struct entry *e = &entries[i];
		void *ours = e->ours[d - lz_drivers], **at = (void **)(table + e->at);

		if (e->table != which || version < e->since || !*at || *at == ours)
			continue;
		*(void **)((char *)d + e->driver) = *at;
		if (ours)
			*at = ours;
	}
	return err;
}

#define FILL(i, table) \
	static ze_result_t ZE_APICALL fill##i##_##table(ze_api_version_t version, void *to) \
	{ \
		return fill(&lz_drivers[i], T_##table, version, to); \
	}
#define FILL_ALL(table) FILL(0, table) FILL(1, table) FILL(2, table) FILL(3, table)
TABLES(FILL_ALL)

static const struct {
	const char *symbol;
	fill_fn ours[LZ_DRIVERS];
} fills[NTABLES] = {
#define NAMED(table) \
	[T_##table] = { "zeGet" #table "ProcAddrTable", { fill0_##table, fill1_##table, fill2_##table, fill3_##table } },
	TABLES(NAMED)
#undef NAMED
};

static enum table table_of(const char *symbol)
{
	enum table t = 0;

	while (t < NTABLES && strcmp(fills[t].symbol, symbol))
		t++;
	return t;
}

static void *find(const char *symbol)
{
	enum table t = table_of(symbol);

	return t < NTABLES ? (void *)fills[t].ours[0] : NULL;
}

/*
 * Returns true if the library with this address is a driver. The loader and layers export functions that return their
 * version; drivers do not.
 */
static bool is_driver(const void *address)
{
	static const char *const versions[] = { "zelLoaderGetVersion", "zelLoaderGetVersions" };
	void *lib = gpubpf_dlsym_library(address);
	bool found = false;

	for (size_t i = 0; lib && i < sizeof(versions) / sizeof(*versions); i++)
		found |= gpubpf_dlsym_next()(lib, versions[i]) != NULL;
	if (lib)
		dlclose(lib);
	return lib && !found;
}

static struct lz_driver *driver_of(const void *library)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct lz_driver *d = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; !d && i < LZ_DRIVERS; i++)
		if (!lz_drivers[i].library || lz_drivers[i].library == library)
			d = &lz_drivers[i];
	if (d)
		d->library = library;
	pthread_mutex_unlock(&lock);
	if (!d)
		gpubpf_log_once("the application loaded more than %d Level Zero drivers; kernels of the other drivers "
				"run unprobed",
				LZ_DRIVERS);
	return d;
}

static void *stand_in(const char *symbol, void *real)
{
	enum table t = table_of(symbol);
	struct lz_driver *d = NULL;
	Dl_info at;

	if (t < NTABLES && is_driver(real) && dladdr(real, &at))
		d = driver_of(at.dli_fbase);
	if (!d)
		return NULL;
	atomic_store(&d->fill[t], real);
	return (void *)fills[t].ours[d - lz_drivers];
}

static bool always(void)
{
	return true;
}

GPUBPF_DLSYM_USER(level_zero, "zeGet", find, always, .stand_in = stand_in);

/* ---- loaders that call a driver without the tables that they requested ---- */

#define DIRECT_HANDLES 0x00020027 /* ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES */

struct direct_handles {
	ze_structure_type_t stype;
	void *next;
	uint32_t flags; /* bit 0: each handle points to an object that begins with its dispatch tables */
};

/*
 * In newer drivers, an object may begin with a pointer to its dispatch tables. A loader with several drivers then calls
 * through these tables, and the agent would not see the calls. Therefore the agent clears the flag that announces them.
 */
ze_result_t lz_DriverGetProperties(struct lz_driver *d, ze_driver_handle_t driver, ze_driver_properties_t *properties)
{
	ze_result_t err = d->next.DriverGetProperties(driver, properties);
	struct direct_handles *p = err || !properties ? NULL : properties->pNext;

	while (p && p->stype != DIRECT_HANDLES)
		p = p->next;
	if (p && lz_active())
		p->flags &= ~1u;
	return err;
}
