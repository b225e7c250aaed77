/* SPDX-License-Identifier: Apache-2.0 */
/* Twin modules of a program: one per device, set of matching links and register limit. */
#include "twin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define SETS_MAX 64 /* modules per program and device, that is, combinations of attached programs and register limits */

int gpubpf_twin_set_reason(struct gpubpf_reason *why, int err, const char *fmt, ...)
{
	va_list args;

	if (why->text[0])
		return err;
	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return err;
}

static bool twin_module_matches(const struct gpubpf_twin_module *set, const struct gpubpf_hook_device *device,
				uint32_t registers, const uint32_t *links, uint32_t nlinks)
{
	return set->device == device && set->registers == registers && set->nlinks == nlinks &&
	       !memcmp(set->links, links, nlinks * sizeof(*links));
}

struct gpubpf_twin_module *gpubpf_twin_module_get_or_create(struct gpubpf_hook_program *program,
							 struct gpubpf_hook_device *device, uint32_t registers,
							 uint32_t *links, uint32_t nlinks, char *wanted)
{
	struct gpubpf_twin_module *set;
	uint32_t n = 0;

	gpubpf_assert_held(&program->lock);
	for (set = program->sets; set && !twin_module_matches(set, device, registers, links, nlinks); set = set->next)
		n += set->device == device;
	if (set) {
		free(links);
		free(wanted);
		return set;
	}
	set = n < SETS_MAX ? calloc(1, sizeof(*set)) : NULL;
	if (!set)
		return NULL;
	set->program = program;
	set->device = device;
	set->registers = registers;
	set->links = links;
	set->nlinks = nlinks;
	set->wanted = wanted;
	set->next = program->sets;
	program->sets = set;
	return set;
}

static void close_sets(void *arg)
{
	struct gpubpf_hook_program *program = arg;

	pthread_mutex_lock(&program->lock);
	program->closed = true;
	for (struct gpubpf_twin_module *set = program->sets; set; set = set->next) {
		if (!set->module || set->state == SET_BUSY)
			continue;
		program->ops->twin_unload(set->module);
		set->module = NULL;
	}
	pthread_mutex_unlock(&program->lock);
}

void gpubpf_twin_modules_unload(struct gpubpf_hook_program *program)
{
	if (program->sets)
		gpubpf_run_on_agent_thread(close_sets, program);
}

static void destroy_sets(void *arg)
{
	struct gpubpf_hook_program *program = arg;
	struct gpubpf_twin_module *set, *next;

	for (set = program->sets; set; set = next) {
		next = set->next;
		gpubpf_request_drop(set->request);
		gpubpf_twin_finish(&set->answer);
		free(set->links);
		free(set->wanted);
		if (set->module)
			program->ops->twin_unload(set->module);
		free(set);
	}
}

static bool any_loaded(const struct gpubpf_hook_program *program)
{
	const struct gpubpf_twin_module *set = program->sets;

	while (set && !set->module)
		set = set->next;
	return set;
}

void gpubpf_twin_modules_destroy(struct gpubpf_hook_program *program)
{
	if (any_loaded(program))
		gpubpf_run_on_agent_thread(destroy_sets, program);
	else
		destroy_sets(program);
}
