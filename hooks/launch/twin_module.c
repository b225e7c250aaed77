/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: brings a dispatch entry up to the current plan. It sends the program's image once per device, set of matching
 * links and register limit, with the names of the matching kernels. The session answers with an image to load and its
 * kernels.
 * Before: the entry has the binding of an older plan, or no binding.
 * After: the entry has the plan's binding: a twin, a refusal with its reason, or nothing attached. It stays at the
 * older plan when the wait budget is used up, or when no twin is ready and the caller may not wait.
 * Requires: the lock order of agent.h. Agent threads (async_twins.c) take the same steps without using the budget.
 *
 * A plan that restores an earlier set of programs reuses its twins.
 */
#include "hooks/client/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hooks/process/agent_thread.h"
#include "core/model/diag.h"
#include "core/wire/checks.h"

#define SETS_MAX 64 /* per program and device: one for each combination of attached programs */

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

static int set_reason(struct gpubpf_reason *why, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int set_reason(struct gpubpf_reason *why, int err, const char *fmt, ...)
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

/* Takes over `links` and `wanted`, both malloc'd, unless it returns NULL: out of memory, or too many modules. The
 * caller holds the program's lock. */
static struct gpubpf_twin_module *twin_module_get_or_create(struct gpubpf_hook_program *program,
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

/* Copy the next name of a list separated by ';' to `name`, which has GPUBPF_WHOLE_NAME_SIZE bytes. NULL: end of
 * list. */
static const char *next_name(const char *list, char *name)
{
	size_t len;

	for (; *list; list += len + (list[len] == ';')) {
		len = strcspn(list, ";");
		if (!len || len >= GPUBPF_WHOLE_NAME_SIZE)
			continue;
		memcpy(name, list, len);
		name[len] = 0;
		return list + len;
	}
	return NULL;
}

static void write_names(const char *list, struct gpubpf_writer *w)
{
	char name[GPUBPF_WHOLE_NAME_SIZE];
	uint32_t n = 0;

	for (const char *at = list; (at = next_name(at, name));)
		n++;
	gpubpf_put_u32(w, n);
	for (const char *at = list; (at = next_name(at, name));)
		gpubpf_put_str(w, name);
}

/* The part of a plan that concerns a program: links in plan order, and names of kernels. */
struct plan_subset {
	uint32_t *links, nlinks;
	char *wanted;
};

static bool contains_link(const uint32_t *links, uint32_t n, uint32_t link)
{
	while (n && links[n - 1] != link)
		n--;
	return n;
}

/* Select the links that match any kernel of the program, in plan order, each once. 0 or -ENOMEM. */
static int select_links(const struct gpubpf_plan *plan, const char *kernels, struct plan_subset *part)
{
	char *name = malloc(GPUBPF_WHOLE_NAME_SIZE), *end;
	uint32_t *matching = malloc((plan->n + 1) * sizeof(*matching)), n;
	bool *used = name ? calloc(plan->n + 1, sizeof(*used)) : NULL;

	*part = (struct plan_subset){ .links = malloc((plan->n + 1) * sizeof(*matching)), .wanted = malloc(strlen(kernels) + 2) };
	end = part->wanted;
	for (const char *at = kernels; matching && used && part->links && end && (at = next_name(at, name));) {
		n = gpubpf_plan_links(plan, name, matching);
		for (uint32_t i = 0; i < plan->n; i++)
			used[i] |= contains_link(matching, n, plan->entry[i].link);
		if (n)
			end = stpcpy(end == part->wanted ? end : stpcpy(end, ";"), name);
	}
	for (uint32_t i = 0; used && part->links && i < plan->n; i++)
		if (used[i])
			part->links[part->nlinks++] = plan->entry[i].link;
	free(name);
	free(matching);
	free(used);
	if (matching && used && part->links && end) {
		*end = 0;
		return 0;
	}
	free(part->links);
	free(part->wanted);
	return -ENOMEM;
}

/* Write the headers one after another into one memfd, and their offsets into the message. */
static int write_headers(const struct gpubpf_hook_image *image, struct gpubpf_writer *w)
{
	struct gpubpf_writer all = {0};
	uint64_t at = 0;
	int fd;

	gpubpf_put_u32(w, image->nheaders);
	if (!image->nheaders)
		return -1;
	for (uint32_t i = 0; i < image->nheaders; i++) {
		gpubpf_put_str(w, image->headers[i].name);
		gpubpf_put_u64(w, at + 4); /* skip the length word */
		gpubpf_put_u64(w, image->headers[i].size);
		gpubpf_put_bytes(&all, image->headers[i].data, image->headers[i].size);
		at += 4 + image->headers[i].size;
	}
	fd = all.failed ? -ENOMEM : gpubpf_memfd_image("gpubpf-headers", all.data, all.size);
	gpubpf_writer_finish(&all);
	return fd;
}

static int send_image(struct gpubpf_twin_module *set, const struct gpubpf_hook_image *image)
{
	struct gpubpf_writer w = {0};
	int fds[2] = { -1, -1 }, err = 0;

	gpubpf_put_u32(&w, set->device->number);
	gpubpf_put_u32(&w, image->kind);
	gpubpf_put_str(&w, image->options ? image->options : "");
	fds[1] = write_headers(image, &w);
	write_names(set->wanted, &w);
	gpubpf_put_u32(&w, set->unloadable);
	gpubpf_put_str(&w, image->cwd ? image->cwd : "");
	gpubpf_put_u64(&w, image->built_ns);
	gpubpf_put_u32(&w, set->nlinks);
	for (uint32_t i = 0; i < set->nlinks; i++)
		gpubpf_put_u32(&w, set->links[i]);
	gpubpf_put_str(&w, image->from ? image->from : "");
	gpubpf_put_u64(&w, image->identity);
	gpubpf_put_u32(&w, set->registers);
	if (!image->kept)
		fds[0] = gpubpf_memfd_image("gpubpf-image", image->data, image->size);
	if ((!image->kept && fds[0] < 0) || (image->nheaders && fds[1] < 0))
		err = fds[0] < 0 ? fds[0] : fds[1];
	else
		err = gpubpf_client_request(GPUBPF_MSG_TWIN, &w, fds, !image->kept + (image->nheaders != 0), &set->request);
	gpubpf_writer_finish(&w);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return err < 0 ? set_reason(&set->why, err, "the program could not be sent to the session: %s",
				    gpubpf_session_strerror(err)) : 0;
}

/* The session limits concurrent requests. -EAGAIN: a later launch may try again. */
static int wait_for_room(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t until;
	int err = 0;

	if (gpubpf_client_can_request())
		return 0;
	if (gpubpf_is_agent_thread())
		return -EAGAIN;
	until = gpubpf_wait_budget_begin();
	while (!err && !gpubpf_client_can_request()) {
		err = gpubpf_now_ns() < until ? 0 : -EAGAIN;
		if (!err)
			nanosleep(&nap, NULL);
	}
	gpubpf_wait_budget_end();
	return err;
}

static int send_request(struct gpubpf_twin_module *set, const char *kernel)
{
	const struct gpubpf_hook_ops *ops = set->program->ops;
	struct gpubpf_hook_image image = { .unloadable = set->unloadable };
	int err = gpubpf_device_make_ready(set->device, &set->why);

	if (!err)
		err = wait_for_room();
	if (err < 0)
		return err;
	err = ops->image(set->program->adapter, set->device, &image);
	set->identity = image.identity;
	if (err < 0 || image.reason)
		err = set_reason(&set->why, -EOPNOTSUPP, "%s", image.reason ? image.reason : strerror(-err));
	else if (image.size > GPUBPF_IMAGE_MAX)
		err = set_reason(&set->why, -E2BIG, "the program is larger than %u MiB", GPUBPF_IMAGE_MAX >> 20);
	else if (strlen(kernel) >= GPUBPF_WHOLE_NAME_SIZE)
		err = set_reason(&set->why, -E2BIG, "its name is longer than %d characters",
				 GPUBPF_WHOLE_NAME_SIZE - 1);
	else
		err = send_image(set, &image);
	ops->image_put(&image);
	return err;
}

/* Read the whole twin image, so that no other process can change it meanwhile. */
static int read_image(int fd, void **data, size_t *size)
{
	int64_t n = gpubpf_memfd_size(fd, GPUBPF_IMAGE_MAX);
	char *bytes;

	if (n <= 0)
		return -EPROTO;
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	for (int64_t got = 0; got < n;) {
		ssize_t k = pread(fd, bytes + got, n - got, got);

		if (k <= 0) {
			free(bytes);
			return -EIO;
		}
		got += k;
	}
	*data = bytes;
	*size = n;
	return 0;
}

static bool any_twin(const struct gpubpf_twin_answer *answer)
{
	for (uint32_t i = 0; i < answer->n; i++)
		if (answer->entries[i].twin[0])
			return true;
	return false;
}

/* Make the session build another form of the twin, if it has announced one. */
static bool request_other_form(struct gpubpf_twin_module *set)
{
	uint32_t kind = 1u << set->answer.kind % 32;

	if (!(set->answer.entries[0].flags & GPUBPF_TWIN_OTHER_FORM) || set->unloadable & kind)
		return false;
	set->unloadable |= kind;
	set->before = set->why;
	set->why.text[0] = 0;
	gpubpf_twin_finish(&set->answer);
	gpubpf_request_drop(set->request);
	set->request = NULL;
	return true;
}

static int load(struct gpubpf_twin_module *set)
{
	struct gpubpf_packet *packet = gpubpf_request_answer(set->request);
	uint64_t from;
	void *data;
	size_t size;
	int err;

	if (packet->type != GPUBPF_MSG_TWIN_DONE || gpubpf_twin_parse(&packet->payload, &set->answer) < 0)
		return set_reason(&set->why, -EPROTO, "the session's answer violates the protocol");
	if (set->answer.keeps)
		gpubpf_image_note_cached(set->identity);
	if (!set->answer.n)
		return set_reason(&set->why, -EOPNOTSUPP, "%s",
				  set->answer.reason[0] ? set->answer.reason : "the session refused the program");
	if (!any_twin(&set->answer))
		return 0;
	err = gpubpf_device_fill(set->device, &set->why);
	if (err < 0)
		return err;
	err = packet->nfds ? read_image(packet->fds[0], &data, &size) : packet->lost ? -EMFILE : -EPROTO;
	gpubpf_msg_close(packet); /* one open descriptor per twin would exhaust the application's limit */
	if (err < 0)
		return set_reason(&set->why, err, "the session's twin could not be read: %s", strerror(-err));
	from = gpubpf_now_ns();
	err = set->program->ops->twin_load(set->device, set->program->adapter, set->answer.kind, data, size,
					 set->answer.options, &set->module, &set->why);
	free(data);
	set->load_ns = gpubpf_now_ns() - from;
	if (err < 0 && request_other_form(set))
		return -EAGAIN;
	if (err < 0)
		return set_reason(&set->why, err, "the runtime failed to load the twin: %s", strerror(-err));
	gpubpf_prepare_wait(set->device);
	gpubpf_clock_calibrate(set->device);
	return 0;
}

/* A launch has waited for this step since `from`. */
static void count_wait(enum gpubpf_wait_part part, uint64_t from)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	if (table && !gpubpf_is_agent_thread())
		gpubpf_kernel_table_add(&table->wait_ns[part], gpubpf_now_ns() - from);
}

/* Unload the module if the application released the program during the load: no later call would. */
static void unload_closed(struct gpubpf_twin_module *set)
{
	struct gpubpf_hook_program *program = set->program;
	void *module = NULL;

	pthread_mutex_lock(&program->lock);
	if (program->closed) {
		module = set->module;
		set->module = NULL;
	}
	pthread_mutex_unlock(&program->lock);
	if (module)
		program->ops->twin_unload(module);
}

/* -ESTALE: the application has released the kernel that the agent thread works for. */
static int request_by_kernel(struct gpubpf_twin_module *set, const char *kernel)
{
	int err;

	if (!gpubpf_agent_job_use_kernel())
		return -ESTALE;
	err = send_request(set, kernel);
	gpubpf_agent_job_leave_kernel();
	return err;
}

static int load_on_device(struct gpubpf_twin_module *set)
{
	int err;

	if (!gpubpf_agent_job_use_device())
		return -ESTALE;
	err = load(set);
	unload_closed(set);
	gpubpf_agent_job_leave_device();
	return err;
}

/* Send the request (next: SET_REQUESTED) or load the answer (SET_LOADED). Other threads see SET_BUSY meanwhile. The
 * caller holds the program's lock, which is dropped during the work. */
static void run_step(struct gpubpf_twin_module *set, int next, const char *kernel)
{
	uint64_t from = gpubpf_now_ns();
	int err, before = set->state;

	gpubpf_assert_held(&set->program->lock);
	set->state = SET_BUSY;
	pthread_mutex_unlock(&set->program->lock);
	err = next == SET_REQUESTED ? request_by_kernel(set, kernel) : load_on_device(set);
	count_wait(next == SET_REQUESTED ? GPUBPF_WAIT_ASK : GPUBPF_WAIT_LOAD, from);
	pthread_mutex_lock(&set->program->lock);
	set->state = err == -ESTALE ? before : err == -EAGAIN ? SET_NEW : err < 0 ? SET_REFUSED : next;
	pthread_cond_broadcast(&set->program->cond);
}

/* An agent thread wakes regularly to check whether its wait must end. */
static uint64_t wake_at(uint64_t until)
{
	return gpubpf_is_agent_thread() ? gpubpf_agent_job_slice_end() : until;
}

static bool may_wait_on(uint64_t until)
{
	return gpubpf_is_agent_thread() ? gpubpf_agent_job_may_continue() : gpubpf_now_ns() < until;
}

/* The caller holds the program's lock. */
static void wait_while_busy(struct gpubpf_twin_module *set)
{
	uint64_t until, from = gpubpf_now_ns();

	gpubpf_assert_held(&set->program->lock);
	if (set->state != SET_BUSY)
		return;
	until = gpubpf_wait_budget_begin();
	while (set->state == SET_BUSY)
		if (!gpubpf_cond_wait_until(&set->program->cond, &set->program->lock, wake_at(until)) && !may_wait_on(until))
			break;
	gpubpf_wait_budget_end();
	count_wait(GPUBPF_WAIT_OTHERS, from);
}

/* The caller holds the program's lock, which is dropped during the wait. Another thread may load the answer
 * meanwhile and send another request. */
static void wait_for_answer(struct gpubpf_twin_module *set, const char *kernel)
{
	struct gpubpf_request *request = set->request;
	uint64_t until, from = gpubpf_now_ns();
	int err = -ETIMEDOUT;
	bool same;

	gpubpf_assert_held(&set->program->lock);
	gpubpf_request_hold(request);
	pthread_mutex_unlock(&set->program->lock);
	until = gpubpf_wait_budget_begin();
	if (gpubpf_request_is_done(request) || may_wait_on(until)) {
		do
			err = gpubpf_request_wait(request, wake_at(until));
		while (err == -ETIMEDOUT && may_wait_on(until));
		if (err == -ETIMEDOUT && !gpubpf_is_agent_thread())
			gpubpf_wait_budget_suspend();
	}
	gpubpf_wait_budget_end();
	count_wait(GPUBPF_WAIT_ANSWER, from);
	pthread_mutex_lock(&set->program->lock);
	same = set->state == SET_REQUESTED && set->request == request;
	gpubpf_request_drop(request);
	if (!same || err == -ETIMEDOUT)
		return;
	if (!err) {
		run_step(set, SET_LOADED, kernel);
	} else {
		set_reason(&set->why, err, "the session ended before the twin was ready");
		set->state = SET_REFUSED;
	}
}

static const struct gpubpf_twin_entry *find_entry(const struct gpubpf_twin_module *set, const char *name)
{
	for (uint32_t i = 0; i < set->answer.n; i++)
		if (!strcmp(set->answer.entries[i].name, name))
			return &set->answer.entries[i];
	return NULL;
}

static void show_code(struct gpubpf_dispatch_entry *choice, const struct gpubpf_hook_binding *binding)
{
	const struct gpubpf_hook_ops *ops = choice->kernel->program->ops;
	uint32_t before = 0, after = 0;

	if (ops->twin_compiled_by)
		__atomic_store_n(&choice->entry->shared->compiled_by, ops->twin_compiled_by(binding->twin), __ATOMIC_RELAXED);
	if (!ops->twin_registers)
		return;
	ops->twin_registers(binding->twin, &before, &after);
	__atomic_store_n(&choice->entry->shared->regs_before, before, __ATOMIC_RELAXED);
	__atomic_store_n(&choice->entry->shared->regs_after, after, __ATOMIC_RELAXED);
}

static void refuse(struct gpubpf_hook_binding *b, const char *reason)
{
	snprintf(b->reason, sizeof(b->reason), "%s", reason);
}

/* The reason for the first form comes first. */
static void refuse_set(struct gpubpf_hook_binding *b, const struct gpubpf_twin_module *set, const char *reason)
{
	if (set->before.text[0])
		snprintf(b->reason, sizeof(b->reason), "%.120s; %.110s", set->before.text, reason);
	else
		refuse(b, reason);
}

/* Create this kernel's twin from the loaded module. */
static void make_twin(struct gpubpf_dispatch_entry *choice, struct gpubpf_twin_module *set, struct gpubpf_hook_binding *b)
{
	const struct gpubpf_twin_entry *entry = find_entry(set, choice->kernel->name);
	bool nothing = entry && !entry->twin[0] && !entry->reason[0];
	struct gpubpf_hook_twin what;
	struct gpubpf_reason why = {0};
	int err;

	b->listed = nothing && !set->before.text[0]; /* it could be probed, but no program has a place in it */
	if (!entry || !entry->twin[0]) {
		refuse_set(b, set, !entry ? "the session did not find this kernel in the program" :
				   nothing && !b->listed ? "its other form has no place that an attached program uses" :
					   entry->reason);
		return;
	}
	what = (struct gpubpf_hook_twin){ entry->twin, entry->id, entry->nparams, entry->flags };
	err = set->program->ops->twin_kernel(set->module, &what, choice->kernel->adapter, &b->twin, &why);
	if (err < 0) {
		set_reason(&why, err, "the runtime failed to create the twin: %s", strerror(-err));
		b->twin = NULL;
		refuse(b, why.text);
		return;
	}
	b->twin_flags = entry->flags;
	gpubpf_kernel_table_add(&choice->entry->shared->load_ns,
				__atomic_exchange_n(&set->load_ns, 0, __ATOMIC_RELAXED));
}

static struct gpubpf_hook_binding *find_binding(const struct gpubpf_dispatch_entry *choice, const struct gpubpf_twin_module *set)
{
	struct gpubpf_hook_binding *b = choice->bindings;

	gpubpf_assert_held(&choice->kernel->lock);
	while (b && b->set != set)
		b = b->next;
	return b;
}

/* Find or create the entry's binding for the module, in its final form. The caller holds the kernel's lock. */
static struct gpubpf_hook_binding *get_or_create_binding(struct gpubpf_dispatch_entry *choice, struct gpubpf_twin_module *set,
							 const struct gpubpf_plan *plan)
{
	struct gpubpf_hook_binding *b = find_binding(choice, set);

	if (b || !(b = calloc(1, sizeof(*b) + plan->n * sizeof(*b->links))))
		return b;
	b->set = set;
	b->nlinks = gpubpf_plan_links(plan, choice->kernel->whole, b->links);
	if (!set)
		refuse(b, "out of memory, or it was probed with too many combinations of programs; make the "
			  "application load it again");
	else if (set->state == SET_LOADED)
		make_twin(choice, set, b);
	else
		refuse_set(b, set, set->why.text);
	b->next = choice->bindings;
	choice->bindings = b;
	return b;
}

static void show_state(struct gpubpf_dispatch_entry *choice, const struct gpubpf_hook_binding *b)
{
	uint32_t state = __atomic_load_n(&choice->entry->shared->state, __ATOMIC_RELAXED);

	if (b && b->twin) {
		show_code(choice, b);
		gpubpf_kernel_table_set_state(choice->entry, GPUBPF_KERNEL_PROBED, NULL);
	} else if (b && !b->listed) {
		gpubpf_kernel_table_set_state(choice->entry, GPUBPF_KERNEL_REFUSED, b->reason);
	} else if (state != GPUBPF_KERNEL_SEEN && (b || state != GPUBPF_KERNEL_PROBED)) {
		/* a kernel that was once probed keeps that state */
		gpubpf_kernel_table_set_state(choice->entry, GPUBPF_KERNEL_SEEN, "");
	}
}

/* Graphs keep the kernels that they were created with. */
static void warn_of_graphs(const struct gpubpf_dispatch_entry *choice, const struct gpubpf_hook_binding *before)
{
	const struct gpubpf_hook_ops *ops = choice->kernel->program->ops;

	if (before && before->twin && ops->twin_kept && ops->twin_kept(before->twin))
		gpubpf_log_once("kernel %s: its attached programs have changed; graphs or command lists that the "
				 "program made before run it as it was then, until the program makes them again",
				 choice->kernel->name);
}

static bool contains_all_links(const struct gpubpf_hook_binding *some, const uint32_t *links, uint32_t n)
{
	for (uint32_t i = 0; i < some->nlinks; i++)
		if (!contains_link(links, n, some->links[i]))
			return false;
	return true;
}

/* A newly attached program cannot be inserted: the kernel keeps its twin with the earlier programs. */
static bool keeps_previous_twin(const struct gpubpf_dispatch_entry *choice, const struct gpubpf_hook_binding *before,
				const struct gpubpf_hook_binding *b)
{
	if (!b || b->twin || b->listed || !before || !before->twin || !contains_all_links(before, b->links, b->nlinks))
		return false;
	gpubpf_log_once("kernel %s: a newly attached program cannot be added (%s); the present twin stays in use "
			 "without it", choice->kernel->name,
			 b->reason);
	return true;
}

/* Never returns to an older plan. The caller holds the kernel's lock. */
static void set_binding(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan,
			struct gpubpf_hook_binding *b)
{
	uint64_t known = atomic_load(&choice->plan);
	struct gpubpf_hook_binding *before = choice->binding;

	gpubpf_assert_held(&choice->kernel->lock);
	if (known != GPUBPF_NO_PLAN && known >= plan->generation)
		return;
	if (keeps_previous_twin(choice, before, b))
		b = before;
	if (before != b || b || known == GPUBPF_NO_PLAN)
		show_state(choice, b);
	atomic_store_explicit(&choice->binding, b, memory_order_release);
	atomic_store_explicit(&choice->plan, plan->generation, memory_order_release);
	if (before != b && known != GPUBPF_NO_PLAN)
		warn_of_graphs(choice, before);
}

static bool has_twin(const struct gpubpf_dispatch_entry *choice)
{
	const struct gpubpf_hook_binding *b = atomic_load_explicit(&choice->binding, memory_order_acquire);

	return b && b->twin;
}

/* A call that never gets a twin launched the kernel, and no twin has run: the row says so until one does. */
static bool is_refused_by_call(const struct gpubpf_kernel_row *k)
{
	return __atomic_load_n(&k->state, __ATOMIC_RELAXED) == GPUBPF_KERNEL_REFUSED &&
	       __atomic_load_n(&k->missed[GPUBPF_MISS_UNSUPPORTED], __ATOMIC_RELAXED);
}

/* The caller holds the program's lock. */
static void refresh_module_once(struct gpubpf_dispatch_entry *choice, struct gpubpf_twin_module *set)
{
	const char *kernel = choice->kernel->whole;

	gpubpf_assert_held(&set->program->lock);
	if (set->state < SET_LOADED && !has_twin(choice) && !is_refused_by_call(choice->entry->shared))
		gpubpf_kernel_table_set_state(choice->entry, GPUBPF_KERNEL_WAITING, NULL);
	if (set->state == SET_NEW)
		run_step(set, SET_REQUESTED, kernel);
	wait_while_busy(set);
	if (set->state == SET_REQUESTED)
		wait_for_answer(set, kernel);
	wait_while_busy(set);
}

/* Repeats for each form of the twin that the runtime failed to load. */
static void refresh_module(struct gpubpf_dispatch_entry *choice, struct gpubpf_twin_module *set)
{
	uint32_t known;

	do {
		known = set->unloadable;
		refresh_module_once(choice, set);
	} while (set->state < SET_LOADED && set->unloadable != known);
}

/* Names of all kernels of the program, queried once. NULL: it has only this kernel, or the names are unknown. */
static const char *kernels_of(struct gpubpf_hook_program *program)
{
	char *names = atomic_load_explicit(&program->kernels, memory_order_acquire), *none = NULL;

	if (names || gpubpf_is_agent_thread() || !program->ops->kernels || !(names = program->ops->kernels(program->adapter)))
		return names;
	if (atomic_compare_exchange_strong(&program->kernels, &none, names))
		return names;
	free(names);
	return none;
}

/* The twin module for what the plan attaches to kernels of the program, in whatever state it has reached. */
static struct gpubpf_twin_module *find_set(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan,
					uint32_t registers, bool may_wait)
{
	struct gpubpf_hook_program *program = choice->kernel->program;
	const char *kernels = kernels_of(program);
	struct gpubpf_twin_module *set;
	struct plan_subset part;

	if (select_links(plan, kernels ? kernels : choice->kernel->whole, &part) < 0)
		return NULL;
	pthread_mutex_lock(&program->lock);
	set = twin_module_get_or_create(program, choice->device, registers, part.links, part.nlinks, part.wanted);
	if (set && may_wait)
		refresh_module(choice, set);
	pthread_mutex_unlock(&program->lock);
	if (!set) {
		free(part.links);
		free(part.wanted);
	}
	return set;
}

static bool is_final(struct gpubpf_twin_module *set)
{
	bool made;

	if (!set)
		return true; /* final: there will be no module */
	pthread_mutex_lock(&set->program->lock);
	made = set->state == SET_LOADED || set->state == SET_REFUSED;
	pthread_mutex_unlock(&set->program->lock);
	return made;
}

/* False: an agent thread holds the kernel, or the application has released it. */
static bool lock_kernel(struct gpubpf_hook_kernel *kernel, bool may_wait)
{
	if (may_wait ? pthread_mutex_lock(&kernel->lock) : pthread_mutex_trylock(&kernel->lock))
		return false;
	if (!atomic_load(&kernel->gone))
		return true;
	pthread_mutex_unlock(&kernel->lock);
	return false;
}

/* A caller that may not wait takes a twin built earlier. False: the register limit has changed. It is lower now, or
 * no limit because no twin within it could be built. */
static bool bind_entry(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan, struct gpubpf_twin_module *set,
		       uint32_t registers, bool may_wait)
{
	struct gpubpf_hook_binding *b = NULL;
	bool wanted;

	if (!lock_kernel(choice->kernel, may_wait))
		return true;
	wanted = atomic_load(&choice->registers) == registers;
	if (wanted)
		b = may_wait ? get_or_create_binding(choice, set, plan) : find_binding(choice, set);
	if (wanted && registers && may_wait && (!b || !b->twin)) {
		choice->wide = true;
		atomic_store(&choice->registers, 0);
		wanted = false;
	}
	if (wanted && b)
		set_binding(choice, plan, b);
	pthread_mutex_unlock(&choice->kernel->lock);
	return wanted || !may_wait;
}

static void clear_binding(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan, bool may_wait)
{
	if (!lock_kernel(choice->kernel, may_wait))
		return;
	set_binding(choice, plan, NULL);
	pthread_mutex_unlock(&choice->kernel->lock);
}

/* bind_entry() calls the runtime: pin the device meanwhile. */
static bool bind_on_device(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan, struct gpubpf_twin_module *set,
			   uint32_t registers, bool may_wait)
{
	bool bound;

	if (!gpubpf_agent_job_use_device())
		return true;
	bound = bind_entry(choice, plan, set, registers, may_wait);
	gpubpf_agent_job_leave_device();
	return bound;
}

struct refresh_args {
	struct gpubpf_dispatch_entry *choice;
	const struct gpubpf_plan *plan;
	bool may_wait;
};

/* The plan matches this kernel. */
static void refresh_matching(void *arg)
{
	const struct refresh_args *s = arg;
	struct gpubpf_twin_module *set;
	uint32_t registers;

	do {
		registers = atomic_load(&s->choice->registers);
		set = find_set(s->choice, s->plan, registers, s->may_wait);
	} while (is_final(set) && !bind_on_device(s->choice, s->plan, set, registers, s->may_wait));
}

bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *choice, bool may_wait)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	struct gpubpf_hook_kernel *kernel = choice->kernel;
	bool wanted = !plan || gpubpf_plan_matches(plan, kernel->whole);

	if (plan && wanted) {
		struct refresh_args refresh_args = { choice, plan, may_wait };

		atomic_store_explicit(&kernel->wanted, true, memory_order_relaxed);
		if (gpubpf_hook_callbacks)
			refresh_matching(&refresh_args); /* a runtime thread, which may hold the runtime's locks */
		else
			gpubpf_run_on_agent_thread(refresh_matching, &refresh_args);
	} else if (plan) {
		clear_binding(choice, plan, may_wait);
	}
	free(plan);
	return wanted;
}

struct sending {
	struct gpubpf_twin_module *set;
	int err;
};

static void send_in_thread(void *arg)
{
	struct sending *s = arg;

	s->err = send_request(s->set, "");
}

/* The caller holds the program's lock, which is dropped during the send. */
static void request_ahead(struct gpubpf_twin_module *set)
{
	struct sending sending = { set, -EAGAIN };
	int err;

	gpubpf_assert_held(&set->program->lock);
	if (set->state != SET_NEW)
		return;
	set->state = SET_BUSY;
	pthread_mutex_unlock(&set->program->lock);
	if (gpubpf_client_can_request())
		gpubpf_run_on_agent_thread(send_in_thread, &sending);
	err = sending.err;
	pthread_mutex_lock(&set->program->lock);
	set->state = err == -EAGAIN ? SET_NEW : err < 0 ? SET_REFUSED : SET_REQUESTED;
	pthread_cond_broadcast(&set->program->cond);
}

void gpubpf_twin_request(struct gpubpf_dispatch_entry *choice)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	struct gpubpf_twin_module *set = plan ? find_set(choice, plan, atomic_load(&choice->registers), false) : NULL;

	if (set) {
		pthread_mutex_lock(&set->program->lock);
		request_ahead(set);
		pthread_mutex_unlock(&set->program->lock);
	}
	free(plan);
}

void gpubpf_twin_drop_detached(struct gpubpf_dispatch_entry *choice)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	struct gpubpf_hook_binding *before;
	uint32_t links[GPUBPF_PLAN_LINKS], n;

	if (!plan)
		return;
	n = gpubpf_plan_links(plan, choice->kernel->whole, links);
	free(plan);
	if (!lock_kernel(choice->kernel, true))
		return;
	before = choice->binding;
	if (before && before->twin && !contains_all_links(before, links, n)) {
		atomic_store_explicit(&choice->binding, NULL, memory_order_release);
		gpubpf_log_once("kernel %s: a program was detached, and its twin without that program was not ready "
				 "in time; it runs unprobed until then", choice->kernel->name);
	}
	pthread_mutex_unlock(&choice->kernel->lock);
}

void gpubpf_twin_limit_registers(struct gpubpf_dispatch_entry *choice, uint32_t registers)
{
	uint32_t known;

	pthread_mutex_lock(&choice->kernel->lock);
	known = atomic_load(&choice->registers);
	if (!choice->wide && (!known || registers < known)) {
		atomic_store(&choice->registers, registers);
		atomic_store_explicit(&choice->plan, GPUBPF_NO_PLAN, memory_order_release);
	}
	pthread_mutex_unlock(&choice->kernel->lock);
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
