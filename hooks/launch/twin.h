/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/launch: the steps from a plan to a twin. twin_refresh.c calls them. twin_links.c selects links and
 * kernels; twin_module.c finds or creates the twin module. twin_steps.c takes the module from state to state: it calls
 * twin_request.c and twin_load.c. Finally twin_binding.c binds the dispatch entry to the kernel's twin.
 */
#ifndef GPUBPF_HOOKS_TWIN_H
#define GPUBPF_HOOKS_TWIN_H

#include "core/model/diag.h"
#include "hooks/agent.h"
#include "hooks/client/parse.h"

/* the twins of one program on one device, for one set of links and one register limit */
struct gpubpf_twin_module {
	struct gpubpf_twin_module *next;
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_device *device;
	uint32_t nlinks, *links; /* indices of the links whose programs the twins contain */
	uint32_t registers;      /* register limit per GPU thread; 0: no limit */
	char *kernel_names;      /* names of matching kernels, separated by ';' */
	enum { SET_NEW, SET_BUSY, SET_REQUESTED, SET_LOADED, SET_REFUSED } state; /* protected by the program's lock */
	struct gpubpf_request *request;
	struct gpubpf_twin_answer answer;
	struct gpubpf_reason form_reason; /* why the runtime refused an earlier form of the twin (PTX, machine code) */
	uint32_t unloadable;              /* twin kinds that the runtime failed to load: 1 << enum gpubpf_image_kind */
	uint64_t identity;                /* the adapter's identity of the image that was sent */
	void *handle;                     /* the adapter's handle of the loaded module, or NULL */
	uint64_t load_ns;                 /* duration of the module load; added to its first kernel's row, then 0 */
	struct gpubpf_reason why;
};

/* twin_links.c: the part of a plan that concerns a program: link indices in plan order, and the names of its matching
 * kernels, separated by ';' */
struct gpubpf_plan_subset {
	uint32_t *links, nlinks;
	char *kernel_names;
};

/* Copy the next name of a list separated by ';' to `name`, which has GPUBPF_WHOLE_NAME_SIZE bytes. Returns the rest of
 * the list, or NULL at its end. */
const char *gpubpf_twin_next_name(const char *list, char *name);
void gpubpf_twin_write_names(const char *list, struct gpubpf_writer *w);
bool gpubpf_twin_contains_link(const uint32_t *links, uint32_t n, uint32_t link);
/* Select the links whose patterns match any of `kernels` (separated by ';'), and those kernels. 0 or -ENOMEM. */
int gpubpf_twin_select_links(const struct gpubpf_plan *plan, const char *kernels, struct gpubpf_plan_subset *part);

/* twin_module.c */
/* Stores the reason unless *why already has one, and returns err. */
int gpubpf_twin_set_reason(struct gpubpf_reason *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Takes ownership of `links` and `kernel_names`, both malloc'd. NULL: out of memory, or too many modules; then the
 * caller keeps them. The caller holds the program's lock. */
struct gpubpf_twin_module *gpubpf_twin_module_get_or_create(struct gpubpf_hook_program *program,
							    struct gpubpf_hook_device *device, uint32_t registers,
							    uint32_t *links, uint32_t nlinks, char *kernel_names);

/* twin_request.c: 0, or -errno and module->why. -EAGAIN: too many pending requests; a later launch may try again. */
int gpubpf_twin_send_request(struct gpubpf_twin_module *module, const char *kernel);

/* twin_load.c: 0, or -errno and module->why. -EAGAIN: module->unloadable has grown; request another form. */
int gpubpf_twin_load(struct gpubpf_twin_module *module);

/* twin_steps.c: the caller holds the program's lock, which is dropped during the work and the waits. */
/* Send the request (next: SET_REQUESTED) or load the answer (SET_LOADED). Other threads see SET_BUSY meanwhile. */
void gpubpf_twin_run_step(struct gpubpf_twin_module *module, int next, const char *kernel);
void gpubpf_twin_wait_while_busy(struct gpubpf_twin_module *module);
/* Wait for the answer to module->request, then load it. Another thread may do so meanwhile and send another request. */
void gpubpf_twin_wait_for_answer(struct gpubpf_twin_module *module, const char *kernel);

/* twin_binding.c */
/* Bind the entry to its kernel's twin in the module, or to the refusal. Without may_wait only to a binding that
 * exists. False: repeat with the entry's new register limit: a launch lowered it, or no twin within it could be built
 * (limit 0). */
bool gpubpf_twin_bind_entry(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan,
			    struct gpubpf_twin_module *module, uint32_t registers, bool may_wait);
void gpubpf_twin_clear_binding(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan, bool may_wait);

#endif
