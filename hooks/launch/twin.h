/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/launch: the steps from a plan to a twin. twin_refresh.c calls them. twin_links.c selects links and
 * kernels, and twin_module.c finds the module. twin_steps.c drives it by twin_request.c and twin_load.c. Finally
 * twin_binding.c binds the kernel.
 */
#ifndef GPUBPF_HOOKS_TWIN_H
#define GPUBPF_HOOKS_TWIN_H

#include "core/model/diag.h"
#include "hooks/agent.h"
#include "hooks/client/parse.h"

struct gpubpf_twin_module {
	struct gpubpf_twin_module *next;
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_device *device;
	uint32_t nlinks, *links;   /* links whose programs the twins contain */
	uint32_t registers;        /* register limit per thread; 0: no limit */
	char *wanted;              /* names of matching kernels, separated by ';' */
	enum { SET_NEW, SET_BUSY, SET_REQUESTED, SET_LOADED, SET_REFUSED } state; /* protected by the program's lock */
	struct gpubpf_request *request;
	struct gpubpf_twin_answer answer;
	struct gpubpf_reason before;  /* why the runtime did not load another form of the twin */
	uint32_t unloadable;       /* twin kinds that the runtime failed to load: 1 << enum gpubpf_image_kind */
	uint64_t identity;         /* the adapter's identity of the image that was sent */
	void *module;
	uint64_t load_ns;  /* duration of the module load; reported with its first kernel */
	struct gpubpf_reason why;
};

/* twin_links.c: links in plan order, and names of kernels separated by ';' */
struct gpubpf_plan_subset {
	uint32_t *links, nlinks;
	char *wanted;
};

/* Copy the next name of a list separated by ';' to `name`, which has GPUBPF_WHOLE_NAME_SIZE bytes. NULL: end of
 * list. */
const char *gpubpf_twin_next_name(const char *list, char *name);
void gpubpf_twin_write_names(const char *list, struct gpubpf_writer *w);
bool gpubpf_twin_contains_link(const uint32_t *links, uint32_t n, uint32_t link);
/* Select the links that match any kernel of the program, in plan order, each once. 0 or -ENOMEM. */
int gpubpf_twin_select_links(const struct gpubpf_plan *plan, const char *kernels, struct gpubpf_plan_subset *part);

/* twin_module.c */
/* Stores the reason unless there is one, and returns err. */
int gpubpf_twin_set_reason(struct gpubpf_reason *why, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes over `links` and `wanted`, both malloc'd, unless it returns NULL: out of memory, or too many modules. The
 * caller holds the program's lock. */
struct gpubpf_twin_module *gpubpf_twin_module_get_or_create(struct gpubpf_hook_program *program,
							 struct gpubpf_hook_device *device, uint32_t registers,
							 uint32_t *links, uint32_t nlinks, char *wanted);

/* twin_request.c: 0, or -errno with the module's reason. -EAGAIN: too many requests; a later launch may try again. */
int gpubpf_twin_send_request(struct gpubpf_twin_module *set, const char *kernel);

/* twin_load.c */
int gpubpf_twin_load(struct gpubpf_twin_module *set);

/* twin_steps.c: the caller holds the program's lock, which is dropped during the work and the waits. */
/* Send the request (next: SET_REQUESTED) or load the answer (SET_LOADED). Other threads see SET_BUSY meanwhile. */
void gpubpf_twin_run_step(struct gpubpf_twin_module *set, int next, const char *kernel);
void gpubpf_twin_wait_while_busy(struct gpubpf_twin_module *set);
/* Another thread may load the answer meanwhile and send another request. */
void gpubpf_twin_wait_for_answer(struct gpubpf_twin_module *set, const char *kernel);

/* twin_binding.c */
/* A caller that may not wait takes a twin built earlier. False: the register limit has changed. It is lower now, or
 * no limit because no twin within it could be built. */
bool gpubpf_twin_bind_entry(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan,
			    struct gpubpf_twin_module *set, uint32_t registers, bool may_wait);
void gpubpf_twin_clear_binding(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan, bool may_wait);

#endif
