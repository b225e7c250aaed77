/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/launch: the functions that lead from a plan to a twin. File twin_refresh.c calls them in this order:
 *
 * 1. `twin_links.c` selects links and kernels.
 * 2. `twin_module.c` finds or creates the twin module.
 * 3. `twin_steps.c` changes the module's state with the help of twin_request.c and twin_load.c.
 * 4. `twin_binding.c` binds the dispatch entry to the kernel's twin.
 */
#ifndef GPUBPF_HOOKS_TWIN_H
#define GPUBPF_HOOKS_TWIN_H

#include "core/model/diag.h"
#include "hooks/agent.h"
#include "hooks/client/parse.h"

/* Twins of one GPU program on one device, for one set of links and one register limit. */
struct gpubpf_twin_module {
	struct gpubpf_twin_module *next;
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_device *device;
	uint32_t nlinks, *links;               /* indices of the links whose BPF programs the twins contain */
	uint32_t registers;                    /* register limit per GPU thread; 0: no limit */
	struct gpubpf_name_list *kernel_names; /* names of the kernels that the links match */
	enum { SET_NEW, SET_BUSY, SET_REQUESTED, SET_LOADED, SET_REFUSED } state; /* protected by the program's lock */
	struct gpubpf_request *request;
	struct gpubpf_twin_answer answer;
	/* why the runtime refused the twin in an earlier form (PTX or machine code) */
	struct gpubpf_reason form_reason;
	/* bit 1 << enum gpubpf_image_kind: the runtime failed to load twins of this kind */
	uint32_t unloadable;
	uint64_t identity; /* identity of the image that was sent; the adapter defines it */
	void *handle;      /* the adapter's handle of the loaded module, or NULL */
	/* duration of the module load, until it is added to the row of the module's first kernel; then 0 */
	uint64_t load_ns;
	struct gpubpf_reason why;
};

/*
 * twin_links.c: the part of a plan that matches kernels of one program. It has the link indices, in the plan's order,
 * and the names of these kernels.
 */
struct gpubpf_plan_subset {
	uint32_t *links, nlinks;
	struct gpubpf_name_list *kernel_names;
};

void gpubpf_twin_write_names(const struct gpubpf_name_list *names, struct gpubpf_writer *w);
bool gpubpf_twin_contains_link(const uint32_t *links, uint32_t n, uint32_t link);
/* Select the links whose patterns match any kernel in `kernels`, and select these kernels. Returns 0 or -ENOMEM. */
int gpubpf_twin_select_links(const struct gpubpf_plan *plan, const struct gpubpf_name_list *kernels,
			     struct gpubpf_plan_subset *part);

/* twin_module.c */
/* Store the reason, unless *why already has a reason. Returns err. */
int gpubpf_twin_set_reason(struct gpubpf_reason *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/*
 * Find or create a twin module. Takes ownership of `links` and `kernel_names`, both malloc'd. Returns NULL if out of
 * memory, or if there are too many modules; then the caller still owns both. The caller holds the program's lock.
 */
struct gpubpf_twin_module *gpubpf_twin_module_get_or_create(struct gpubpf_hook_program *program,
							    struct gpubpf_hook_device *device, uint32_t registers,
							    uint32_t *links, uint32_t nlinks,
							    struct gpubpf_name_list *kernel_names);

/*
 * twin_request.c: returns 0, or a negative errno value with the reason in module->why. The value -EAGAIN means that too
 * many requests are pending. Then a later launch may try again.
 */
int gpubpf_twin_send_request(struct gpubpf_twin_module *module, const char *kernel);

/*
 * twin_load.c: returns 0, or a negative errno value with the reason in module->why. The value -EAGAIN means that the
 * runtime refused this form of the twin (PTX or machine code). Then the caller must request another form.
 */
int gpubpf_twin_load(struct gpubpf_twin_module *module);

/* twin_steps.c: the caller holds the program's lock. The functions release it during work and waits. */
/* Send the request (next: SET_REQUESTED) or load the answer (next: SET_LOADED). Meanwhile the state is SET_BUSY. */
void gpubpf_twin_run_step(struct gpubpf_twin_module *module, int next, const char *kernel);
void gpubpf_twin_wait_while_busy(struct gpubpf_twin_module *module);
/*
 * Wait for the answer to module->request, then load the answer. Meanwhile another thread may load it and send a new
 * request.
 */
void gpubpf_twin_wait_for_answer(struct gpubpf_twin_module *module, const char *kernel);

/* twin_binding.c */
/*
 * Bind the entry to the twin of its kernel in the module, or to the refusal. If may_wait is false, use only a binding
 * that already exists. Returns false if the caller must repeat the call with the entry's new register limit. That limit
 * is new because a launch lowered it, or because no twin within the limit could be built (new limit 0).
 */
bool gpubpf_twin_bind_entry(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan,
			    struct gpubpf_twin_module *module, uint32_t registers, bool may_wait);
/*
 * Returns the entry's binding for the module, which it creates if necessary, without making launches use it. Returns
 * NULL if the application has released the kernel, or if memory is exhausted.
 */
const struct gpubpf_hook_binding *gpubpf_twin_create_binding(struct gpubpf_dispatch_entry *dispatch,
							     const struct gpubpf_plan *plan,
							     struct gpubpf_twin_module *module);
void gpubpf_twin_clear_binding(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan, bool may_wait);

/*
 * twin_refresh.c, for agent threads: request and load the twin for the plan, and return its binding, without making
 * launches use it. Returns NULL if the twin is not ready within the job's time.
 */
const struct gpubpf_hook_binding *gpubpf_twin_build_binding(struct gpubpf_dispatch_entry *dispatch,
							    const struct gpubpf_plan *plan, uint32_t registers);

#endif
