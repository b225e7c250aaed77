/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the twin modules of a program: one module per device, set of matching links and register limit. */
#include "twin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define MAX_MODULES 64 /* limit per program and device: combinations of attached BPF programs and register limits */

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

static bool twin_module_matches(const struct gpubpf_twin_module *module, const struct gpubpf_hook_device *device,
				uint32_t registers, const uint32_t *links, uint32_t nlinks)
{
	return module->device == device && module->registers == registers && module->nlinks == nlinks &&
	       !memcmp(module->links, links, nlinks * sizeof(*links));
}

struct gpubpf_twin_module *gpubpf_twin_module_get_or_create(struct gpubpf_hook_program *program,
							    struct gpubpf_hook_device *device, uint32_t registers,
							    uint32_t *links, uint32_t nlinks,
							    struct gpubpf_name_list *kernel_names)
{
	struct gpubpf_twin_module *module;
	uint32_t n = 0;

	gpubpf_assert_held(&program->lock);
	for (module = program->modules; module && !twin_module_matches(module, device, registers, links, nlinks);
	     module = module->next)
		n += module->device == device;
	if (module) {
		free(links);
		free(kernel_names);
		return module;
	}
	module = n < MAX_MODULES ? calloc(1, sizeof(*module)) : NULL;
	if (!module)
		return NULL;
	module->program = program;
	module->device = device;
	module->registers = registers;
	module->links = links;
	module->nlinks = nlinks;
	module->kernel_names = kernel_names;
	module->next = program->modules;
	program->modules = module;
	return module;
}

static void close_modules(void *arg)
{
	struct gpubpf_hook_program *program = arg;

	pthread_mutex_lock(&program->lock);
	program->closed = true;
	for (struct gpubpf_twin_module *module = program->modules; module; module = module->next) {
		if (!module->handle || module->state == SET_BUSY)
			continue;
		program->ops->twin_unload(module->handle);
		module->handle = NULL;
	}
	pthread_mutex_unlock(&program->lock);
}

void gpubpf_twin_modules_unload(struct gpubpf_hook_program *program)
{
	if (program->modules)
		gpubpf_run_on_agent_thread(close_modules, program);
}

static void destroy_sets(void *arg)
{
	struct gpubpf_hook_program *program = arg;
	struct gpubpf_twin_module *module, *next;

	for (module = program->modules; module; module = next) {
		next = module->next;
		gpubpf_request_drop(module->request);
		gpubpf_twin_finish(&module->answer);
		free(module->links);
		free(module->kernel_names);
		if (module->handle)
			program->ops->twin_unload(module->handle);
		free(module);
	}
}

static bool any_loaded(const struct gpubpf_hook_program *program)
{
	const struct gpubpf_twin_module *module = program->modules;

	while (module && !module->handle)
		module = module->next;
	return module;
}

void gpubpf_twin_modules_destroy(struct gpubpf_hook_program *program)
{
	if (any_loaded(program))
		gpubpf_run_on_agent_thread(destroy_sets, program);
	else
		destroy_sets(program);
}
