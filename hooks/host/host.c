/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets the session's programs of sections host/, and runs them at calls of the application. A thread notices a change
 * of the programs by their generation in the kernel table. An agent thread then requests them. The thread waits for
 * the answer, so that no call is missed. A thread marks the plan that it uses, and a plan is freed when no thread uses
 * it. A program that fails is disabled, and the user gets one message.
 */
#include "kernel.h"
#include "private.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/wire/checks.h"
#include "core/wire/match.h"
#include "core/wire/msg.h"
#include "hooks/agent.h"

#define MAX_PLAN (64u << 20) /* limit of the programs in bytes */
#define WAIT_NS 2000000000ull /* minimum wait for the programs; the tool answers at once */

atomic_uint gpubpf_host_events;
atomic_uint_fast64_t gpubpf_host_generation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* protects `retired` and `callers` */
static pthread_mutex_t update_lock = PTHREAD_MUTEX_INITIALIZER; /* one thread requests programs */
static _Atomic(struct gpubpf_host_plan *) current;
static struct gpubpf_host_plan *retired;
static struct gpubpf_host_caller *callers;
static _Thread_local struct gpubpf_host_caller *self;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t number;

uint64_t gpubpf_host_generation_now(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	return table ? __atomic_load_n(&table->host, __ATOMIC_RELAXED) : 0;
}

/* -- the programs -- */

static bool is_used(const struct gpubpf_host_plan *plan)
{
	gpubpf_assert_held(&lock);
	for (const struct gpubpf_host_caller *c = callers; c; c = c->next)
		if (atomic_load(&c->plan) == plan)
			return true;
	return false;
}

static void free_unused(void)
{
	struct gpubpf_host_plan **at = &retired, *plan;

	gpubpf_assert_held(&lock);
	while ((plan = *at)) {
		if (is_used(plan)) {
			at = &plan->next;
			continue;
		}
		*at = plan->next;
		gpubpf_host_plan_free(plan);
	}
}

/* Publish the plan, or no plan. Threads that run programs of the previous plan continue. */
static void publish(struct gpubpf_host_plan *plan, uint64_t generation)
{
	struct gpubpf_host_plan *before = atomic_exchange(&current, plan);

	atomic_store(&gpubpf_host_events, plan ? plan->events : 0);
	atomic_store(&gpubpf_host_generation, generation);
	pthread_mutex_lock(&lock);
	if (before) {
		before->next = retired;
		retired = before;
	}
	free_unused();
	pthread_mutex_unlock(&lock);
}

static int parse(struct gpubpf_packet *packet, struct gpubpf_host_plan **plan)
{
	int64_t size = packet->nfds ? gpubpf_memfd_size(packet->fds[0], MAX_PLAN) : -EPROTO;
	void *bytes, *arena;
	int err;

	if (packet->type != GPUBPF_MSG_HOST_DONE || size <= 0)
		return packet->lost ? -EMFILE : size < 0 ? (int)size : -EPROTO;
	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, packet->fds[0], 0);
	if (bytes == MAP_FAILED)
		return -errno;
	err = gpubpf_host_plan_parse(bytes, size, plan);
	munmap(bytes, size);
	if (err < 0 || packet->nfds < 2)
		return err;
	size = gpubpf_memfd_size(packet->fds[1], SIZE_MAX);
	arena = size >= GPUBPF_ARENA_DATA && (uint64_t)size >= (*plan)->layout.size ?
			gpubpf_shared_arena(packet->fds[1], (*plan)->layout.size) :
			MAP_FAILED;
	if (arena != MAP_FAILED) {
		(*plan)->arena = arena;
		return 0;
	}
	gpubpf_host_plan_free(*plan);
	return size < 0 ? (int)size : -ENOMEM;
}

static int receive(struct gpubpf_host_plan **plan)
{
	uint64_t least = gpubpf_now_ns() + WAIT_NS, until = gpubpf_wait_budget_begin();
	struct gpubpf_request *request = NULL;
	struct gpubpf_writer nothing = { 0 };
	int err = gpubpf_client_request(GPUBPF_MSG_HOST, &nothing, NULL, 0, &request);

	if (!err)
		err = gpubpf_request_wait(request, until > least ? until : least);
	gpubpf_wait_budget_end();
	if (!err)
		err = parse(gpubpf_request_answer(request), plan);
	else if (err == -ETIMEDOUT)
		gpubpf_wait_budget_suspend();
	gpubpf_request_drop(request);
	return err;
}

/* Get the session's present programs. Other threads wait for the first thread that does this. */
static void update(void *arg)
{
	struct gpubpf_host_plan *plan = NULL;
	uint64_t generation;
	int err;

	gpubpf_session_rejoin();
	pthread_mutex_lock(&update_lock);
	generation = gpubpf_host_generation_now();
	if (generation != atomic_load(&gpubpf_host_generation) && gpubpf_session_up()) {
		err = receive(&plan);
		if (err < 0)
			gpubpf_log_once("programs of sections host/ do not run in process %d: %s", getpid(),
					gpubpf_session_strerror(err));
		publish(err < 0 ? NULL : plan, err < 0 ? generation : plan->generation);
	}
	pthread_mutex_unlock(&update_lock);
}

/* -- threads -- */

static void free_caller(void *arg)
{
	struct gpubpf_host_caller *c = arg;

	pthread_mutex_lock(&lock);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	pthread_mutex_unlock(&lock);
	self = NULL;
	free(c);
}

static void create_key(void)
{
	pthread_key_create(&key, free_caller);
}

static struct gpubpf_host_caller *add_caller(void)
{
	struct gpubpf_host_caller *c = calloc(1, sizeof(*c) + gpubpf_interp_room());

	if (!c)
		return NULL;
	pthread_once(&key_once, create_key);
	pthread_mutex_lock(&lock);
	c->next = callers;
	c->link = &callers;
	if (callers)
		callers->link = &c->next;
	callers = c;
	pthread_mutex_unlock(&lock);
	pthread_setspecific(key, c);
	return self = c;
}

static struct gpubpf_host_caller *find_caller(void)
{
	struct gpubpf_host_caller *c = self ? self : add_caller();

	if (c && (!c->pid || c->generation != gpubpf_session_generation())) {
		c->generation = gpubpf_session_generation();
		c->pid = getpid();
		c->tid = gettid();
	}
	return c;
}

/* Mark the current plan as used by the thread, so that it is not freed. */
static struct gpubpf_host_plan *hold_plan(struct gpubpf_host_caller *c)
{
	struct gpubpf_host_plan *plan;

	do {
		plan = atomic_load(&current);
		atomic_store(&c->plan, plan);
	} while (plan != atomic_load(&current));
	return plan;
}

/* -- a call -- */

void gpubpf_host_describe_kernel(const struct gpubpf_hook_launch *l, struct gpubpf_host_kernel *k)
{
	*k = (struct gpubpf_host_kernel){
		.name = l->kernel->full_name,
		.id = gpubpf_host_kernel_id(l),
		.launch = l->number,
		.stream = l->stream,
		.work_dim = l->dim,
		.device = l->device->ordinal,
	};
	for (int i = 0; i < 3; i++) {
		k->block_dim[i] = l->block[i];
		k->grid_dim[i] = l->block[i] ? (l->grid[i] + l->block[i] - 1) / l->block[i] : 0;
	}
}

static void fill_kernel(struct gpubpf_ctx *ctx, const struct gpubpf_host_kernel *k)
{
	ctx->launch = k->launch;
	ctx->kernel = k->id;
	ctx->work_dim = k->work_dim;
	ctx->device = k->device;
	memcpy(ctx->block_dim, k->block_dim, sizeof(k->block_dim));
	memcpy(ctx->grid_dim, k->grid_dim, sizeof(k->grid_dim));
	memcpy(ctx->kernel_name, k->name, strnlen(k->name, sizeof(ctx->kernel_name) - 1));
}

static void fill_launch(struct gpubpf_ctx *ctx, const struct gpubpf_hook_launch *l)
{
	struct gpubpf_host_kernel k;

	gpubpf_host_describe_kernel(l, &k);
	fill_kernel(ctx, &k);
}

/* A call, or a kernel that the runtime has measured. */
struct occasion {
	struct gpubpf_host_call *call;
	const struct gpubpf_host_kernel *kernel; /* NULL: a call */
	bool after;
	int64_t result; /* after a call */
	uint64_t end_ns;
};

static void fill(struct gpubpf_host_caller *c, const struct occasion *o)
{
	const struct gpubpf_host_call *call = o->call;
	struct gpubpf_ctx *ctx = &c->ctx;

	memset(ctx, 0, sizeof(*ctx));
	ctx->site = GPUBPF_SITE_HOST;
	ctx->kernel = UINT64_MAX;
	if (call->launch)
		fill_launch(ctx, call->launch);
	if (o->kernel)
		fill_kernel(ctx, o->kernel);
	if (call->function)
		memcpy(ctx->function_name, call->function, strnlen(call->function, sizeof(ctx->function_name) - 1));
	ctx->host.function = call->function ? gpubpf_host_function_id(call->function) : UINT64_MAX;
	ctx->host.call = call->number;
	ctx->host.bytes = call->bytes;
	ctx->host.pointer = call->pointer;
	ctx->host.source = call->source;
	ctx->host.stream = call->stream;
	ctx->host.event = call->event;
	ctx->host.direction = call->direction;
	ctx->host.pid = c->pid;
	ctx->host.tid = c->tid;
	if (!o->after)
		return;
	ctx->site = GPUBPF_SITE_HOST_EXIT;
	ctx->mark = call->start_ns;
	ctx->done.duration = o->end_ns - call->start_ns;
	ctx->done.result = (uint64_t)o->result;
	ctx->done.device_ns = call->has_device_ns ? call->device_ns : 0;
	ctx->done.clock = call->has_device_ns ? GPUBPF_DONE_DEVICE : GPUBPF_DONE_CALL;
}

struct failure {
	const struct gpubpf_host_plan *plan;
	const struct gpubpf_host_link *link;
	struct gpubpf_host_caller *caller;
};

static void report_failure(void *arg)
{
	const struct failure *f = arg;
	const struct gpubpf_prog *prog = &f->plan->unit.progs[f->link->prog];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	gpubpf_interp_refusal(f->caller->room, &diag);
	gpubpf_log_once("program %s (%s) failed and is disabled in process %d: instruction %u: %.200s", prog->name,
			prog->section, getpid(), diag.pc, diag.what);
}

static void run_program(struct gpubpf_host_caller *c, const struct gpubpf_host_plan *plan, struct gpubpf_host_link *link)
{
	const struct gpubpf_prog *prog = &plan->unit.progs[link->prog];
	struct gpubpf_interp_job job = {
		.unit = &plan->unit,
		.prog = prog,
		.is_verified = true,
		.ctx = &c->ctx,
		.arena = plan->arena,
		.layout = &plan->layout,
		.pid_tgid = (uint64_t)c->pid << 32 | c->tid,
	};
	struct gpubpf_interp_result result;
	int cpu = sched_getcpu();

	job.sm = cpu < 0 || !plan->layout.replicas ? 0 : (uint32_t)cpu % plan->layout.replicas;
	if (link->uses_stack)
		job.pid_tgid |= gpubpf_stack_word(gpubpf_stack_current_number(link->skip, link->depth));
	gpubpf_kernel_table_add(&gpubpf_session_kernel_table()->link[link->link].launches, 1);
	if (!gpubpf_interp_run_in(c->room, &job, &result) || atomic_exchange(&link->failed, true))
		return;
	gpubpf_run_on_agent_thread(report_failure, &(struct failure){ plan, link, c });
}

/* The name that patterns of the event match. */
static const char *get_name(const struct occasion *o)
{
	const char *function = o->call->function ? o->call->function : "";

	if (o->kernel)
		return o->kernel->name;
	return o->call->launch ? o->call->launch->kernel->full_name : function;
}

static bool is_selected(const struct gpubpf_host_link *link, const struct occasion *o)
{
	return link->event == o->call->event && link->after == o->after &&
	       !atomic_load_explicit(&link->failed, memory_order_relaxed) &&
	       (link->matches_all || gpubpf_pattern_matches(link->pattern, get_name(o)));
}

/* Run the programs before or after the call. Returns true if the plan has programs for calls of this kind. */
static bool run_programs(const struct occasion *o)
{
	struct gpubpf_host_caller *c = find_caller();
	struct gpubpf_host_plan *plan;
	bool is_filled = false, has_any;

	if (!c || c->is_busy || !gpubpf_session_enabled())
		return false;
	c->is_busy = true;
	plan = hold_plan(c);
	has_any = plan && plan->events >> o->call->event & 1;
	for (uint32_t i = 0; has_any && i < plan->nlinks; i++) {
		if (!is_selected(&plan->links[i], o))
			continue;
		if (!is_filled)
			fill(c, o);
		is_filled = true;
		run_program(c, plan, &plan->links[i]);
	}
	atomic_store(&c->plan, NULL);
	c->is_busy = false;
	return has_any;
}

bool gpubpf_host_run_begin(struct gpubpf_host_call *call)
{
	int error = errno;
	bool has_any;

	if (gpubpf_thread_is_own())
		return false;
	if (gpubpf_host_generation_now() != atomic_load(&gpubpf_host_generation) && !gpubpf_hook_callbacks)
		gpubpf_run_on_agent_thread(update, NULL);
	call->number = atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
	has_any = run_programs(&(struct occasion){ .call = call });
	call->start_ns = has_any ? gpubpf_now_ns() : 0;
	errno = error;
	return has_any;
}

void gpubpf_host_end(struct gpubpf_host_call *call, int64_t result)
{
	int error = errno;

	run_programs(&(struct occasion){ .call = call, .after = true, .result = result, .end_ns = gpubpf_now_ns() });
	errno = error;
}

void gpubpf_host_run_kernel(const struct gpubpf_host_kernel *kernel, uint64_t start_ns, uint64_t end_ns)
{
	struct gpubpf_host_call call = {
		.event = GPUBPF_HOST_KERNEL,
		.stream = kernel->stream,
		.device_ns = end_ns - start_ns,
		.has_device_ns = true,
		.number = atomic_fetch_add_explicit(&number, 1, memory_order_relaxed),
		.start_ns = start_ns,
	};

	if (gpubpf_thread_is_own())
		return;
	run_programs(&(struct occasion){ .call = &call, .kernel = kernel });
	run_programs(&(struct occasion){ .call = &call, .kernel = kernel, .after = true, .end_ns = end_ns });
}

void gpubpf_host_release(void)
{
	publish(NULL, 0);
	gpubpf_host_names_forget();
}

/* In the child only the calling thread exists. The parent's programs are requested anew. */
void gpubpf_host_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&update_lock, NULL);
	callers = self;
	if (self) {
		self->next = NULL;
		self->link = &callers;
	}
	atomic_store(&current, NULL);
	atomic_store(&gpubpf_host_events, 0);
	atomic_store(&gpubpf_host_generation, 0);
}
