/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the device address at which the runtime has loaded a kernel's code object. ROCr, the layer below HIP, reports
 * for each loaded code object its load address and the host memory that it was loaded from (hsa_ven_amd_loader.h,
 * version 1.3). If that memory is in the application's image, the code object belongs to the image. The runtime may
 * instead load from its own copy of a file or of a compressed bundle. Then the agent searches by kernel name, and
 * accepts the match if it is the only one that belongs to no other module.
 */
#include "hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"
#include "hooks/process/agent_thread.h"

typedef int hsa_status_t;
typedef struct {
	uint64_t handle;
} hsa_handle_t; /* handle of an executable, agent, symbol or loaded code object */

enum {
	HSA_EXTENSION_AMD_LOADER = 0x201,
	LOADER_VERSION = 1,
	INFO_AGENT = 3,
	INFO_STORAGE_TYPE = 4,
	INFO_MEMORY_BASE = 5,
	INFO_MEMORY_SIZE = 6,
	INFO_LOAD_DELTA = 8,
	STORAGE_MEMORY = 2,
	AGENT_INFO_BDFID = 0xa006,
	AGENT_INFO_DOMAIN = 0xa00f,
};

typedef hsa_status_t (*executable_fn)(hsa_handle_t executable, void *arg);
typedef hsa_status_t (*code_object_fn)(hsa_handle_t executable, hsa_handle_t object, void *arg);

static struct hsa {
	struct {
		void *unused[3];
		hsa_status_t (*each_code_object)(hsa_handle_t executable, code_object_fn fn, void *arg);
		hsa_status_t (*info)(hsa_handle_t object, int what, void *value);
		void *unused2;
		hsa_status_t (*each_executable)(executable_fn fn, void *arg);
	} loader;
	hsa_status_t (*agent_info)(hsa_handle_t agent, int what, void *value);
	hsa_status_t (*symbol)(hsa_handle_t executable, const char *name, const hsa_handle_t *agent, hsa_handle_t *symbol);
} hsa;

static bool ready;

static void load(void)
{
	void *lib = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
	hsa_status_t (*table)(uint16_t extension, uint16_t version, size_t size, void *to);

	if (!lib)
		return;
	table = (typeof(table))dlsym(lib, "hsa_system_get_major_extension_table");
	hsa.agent_info = (typeof(hsa.agent_info))dlsym(lib, "hsa_agent_get_info");
	hsa.symbol = (typeof(hsa.symbol))dlsym(lib, "hsa_executable_get_symbol_by_name");
	ready = table && hsa.agent_info && hsa.symbol &&
		!table(HSA_EXTENSION_AMD_LOADER, LOADER_VERSION, sizeof(hsa.loader), &hsa.loader) &&
		hsa.loader.each_executable && hsa.loader.each_code_object && hsa.loader.info;
}

static bool loader_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return ready;
}

/* ---- code objects of twins ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ours {
	struct ours *next;
	const char *image;
	size_t size;
} *all_ours;

void hip_loaded_ignore(const void *image, size_t size)
{
	struct ours *o = malloc(sizeof(*o));

	if (!o)
		return;
	pthread_mutex_lock(&lock);
	*o = (struct ours){ all_ours, image, size };
	all_ours = o;
	pthread_mutex_unlock(&lock);
}

void hip_loaded_unignore(const void *image)
{
	struct ours **at, *gone;

	pthread_mutex_lock(&lock);
	for (at = &all_ours; *at && (*at)->image != image;)
		at = &(*at)->next;
	gone = *at;
	if (gone)
		*at = gone->next;
	pthread_mutex_unlock(&lock);
	free(gone);
}

static bool is_ours(const char *at)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct ours *o = all_ours; o; o = o->next)
		found |= at >= o->image && at < o->image + o->size;
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- the search ---- */

static pthread_mutex_t searching = PTHREAD_MUTEX_INITIALIZER;

struct search {
	const struct hip_module *module;
	char symbol[1024];        /* name of the kernel's descriptor; "": accept only code objects in the image */
	unsigned domain, bdf;     /* PCI address of the device */
	unsigned matches, inside; /* number of matches; number of matches in the application's image */
	struct hip_loaded found;
};

/*
 * Returns true if the code object with the bytes at `from` is in the application's image. *offset receives its offset
 * there.
 */
static bool is_inside_image(const struct hip_module *m, const char *from, uint64_t size, size_t *offset)
{
	if (!m->where || from < m->where || from >= m->where + m->size || size > m->size - (from - m->where))
		return false;
	*offset = from - m->where;
	return true;
}

static bool is_on_device(const struct search *s, hsa_handle_t object, hsa_handle_t *agent)
{
	uint32_t bdf = 0, domain = 0;

	if (hsa.loader.info(object, INFO_AGENT, agent))
		return false;
	if (hsa.agent_info(*agent, AGENT_INFO_BDFID, &bdf) || hsa.agent_info(*agent, AGENT_INFO_DOMAIN, &domain))
		return true; /* older runtimes do not report the device; assume that it is this device */
	return bdf == s->bdf && domain == s->domain;
}

static void record_match(struct search *s, hsa_handle_t object, bool in, size_t offset, size_t size)
{
	int64_t delta = 0;

	if (hsa.loader.info(object, INFO_LOAD_DELTA, &delta))
		return;
	if (in && !s->inside++)
		s->matches = 0; /* a code object in the image is certain, so discard earlier matches by name */
	if (s->inside && !in)
		return;
	s->matches++;
	s->found.code_object = object.handle;
	s->found.base = delta;
	s->found.offset = offset;
	s->found.size = size;
}

static hsa_status_t visit_code_object(hsa_handle_t executable, hsa_handle_t object, void *arg)
{
	struct search *s = arg;
	hsa_handle_t agent, symbol;
	uint64_t from = 0, size = 0;
	uint32_t storage = 0;
	size_t offset = 0;
	bool in;

	if (!is_on_device(s, object, &agent) || hip_module_has(s->module, object.handle) ||
	    (s->symbol[0] && hsa.symbol(executable, s->symbol, &agent, &symbol)))
		return 0;
	if (!hsa.loader.info(object, INFO_STORAGE_TYPE, &storage) && storage == STORAGE_MEMORY) {
		hsa.loader.info(object, INFO_MEMORY_BASE, &from);
		hsa.loader.info(object, INFO_MEMORY_SIZE, &size);
		if (is_ours((const char *)(uintptr_t)from))
			return 0;
	}
	in = is_inside_image(s->module, (const char *)(uintptr_t)from, size, &offset);
	if (in || s->symbol[0])
		record_match(s, object, in, in ? offset : 0, in ? size : 0);
	return 0;
}

static hsa_status_t visit_executable(hsa_handle_t executable, void *arg)
{
	/* The runtime also lists unloaded executables, which have no code objects. */
	hsa.loader.each_code_object(executable, visit_code_object, arg);
	return 0;
}

/* Make the runtime load the function's registered binary. Otherwise the runtime loads it when it is first used. */
static void force_load(const struct hip_function *f)
{
	struct hip_function_attributes attributes;

	if (f->module->registered && hip_next.attributes)
		hip_next.attributes(&attributes, f->base.handle);
}

/*
 * Search the code objects that are loaded on the device for the kernel's code object. If name is NULL, accept only code
 * objects in the application's image.
 */
static void search(const struct hip_module *m, const char *name, int device, struct hip_loaded *loaded)
{
	struct search s = { .module = m };
	unsigned domain = 0, bus = 0, slot = 0, function = 0;
	char id[32] = "";

	gpubpf_assert_held(&searching);
	if (!loader_ready()) {
		loaded->why = "AMD's runtime does not report where it loads code; install one with ROCr's loader "
			      "extension 1.3";
		return;
	}
	if (!hip_direct.pci_id(id, sizeof(id), device))
		sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
	s.domain = domain;
	s.bdf = bus << 8 | slot << 3 | function;
	if (name)
		snprintf(s.symbol, sizeof(s.symbol), "%s.kd", name);
	hsa.loader.each_executable(visit_executable, &s);
	if (s.matches == 1) {
		s.found.device = device;
		*loaded = s.found;
	} else {
		loaded->why =
			s.matches ?
				"its code object is loaded several times, and the runtime does not report which one it uses" :
				"the runtime has not loaded this kernel";
	}
}

static struct hip_loaded *find_loaded(struct hip_module *m, int device)
{
	struct hip_loaded *l = m->loaded;

	while (l && l->device != device)
		l = l->next;
	return l;
}

static void add_loaded(struct hip_module *m, const struct hip_loaded *loaded)
{
	struct hip_loaded *l = malloc(sizeof(*l));

	if (!l)
		return;
	pthread_mutex_lock(&m->lock);
	*l = *loaded;
	l->next = m->loaded;
	m->loaded = l;
	pthread_mutex_unlock(&m->lock);
}

const struct hip_loaded *hip_loaded_find(struct hip_function *f, int device)
{
	struct hip_module *m = f->module;
	struct hip_loaded found = { .device = device };

	pthread_mutex_lock(&searching);
	if (!find_loaded(m, device)) {
		force_load(f);
		search(m, f->name, device, &found);
		add_loaded(m, &found);
	}
	pthread_mutex_unlock(&searching);
	return find_loaded(m, device);
}

struct noting {
	struct hip_module *module;
	int device;
};

static void note_loaded(void *arg)
{
	const struct noting *n = arg;
	struct hip_loaded found = { .device = n->device };

	pthread_mutex_lock(&searching);
	search(n->module, NULL, found.device, &found);
	if (found.code_object)
		add_loaded(n->module, &found);
	pthread_mutex_unlock(&searching);
}

void hip_loaded_note(struct hip_module *m)
{
	struct noting n = { m, 0 };

	if (!hip_direct.get_device(&n.device))
		gpubpf_run_on_agent_thread(note_loaded, &n);
}
