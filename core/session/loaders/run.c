/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs for BPF_PROG_TEST_RUN of loaders. A request begins the run, and later requests fetch its result, because
 * the session serves the runner in between.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/direct/direct_run.h"

/* End the loaders' run. The session's own run, of gpubpf_prog__test_run(), is another one. */
static int end_run(struct gpubpf_session *s, struct gpubpf_test_run_opts *o)
{
	struct gpubpf_direct_run *run = s->loaders->run;

	s->loaders->run = NULL;
	return gpubpf_direct_end(run, o);
}

void sys_run_stop(struct gpubpf_session *s)
{
	struct gpubpf_test_run_opts none = { .sz = sizeof(none) };

	if (s->loaders && s->loaders->run)
		end_run(s, &none);
}

void sys_run_turn(struct gpubpf_session *s)
{
	if (s->loaders && s->loaders->run && gpubpf_direct_is_forgotten(s->loaders->run))
		sys_run_stop(s);
}

static int note_run_failure(struct gpubpf_session *s, int err)
{
	if (err < 0 && gpubpf_session__error(s)[0])
		gpubpf_session_note(s, "%s", gpubpf_session__error(s));
	return err;
}

int sys_run(struct sys_call *c)
{
	struct sys_object *prog = sys_object_find_kind(c->s, GPUBPF_BPF_PROG, gpubpf_get_u32(c->r));
	struct gpubpf_test_run_opts o = { .sz = sizeof(o) };
	struct gpubpf_direct_run *run;
	int64_t link;
	int err;

	for (int d = 0; d < 3; d++)
		o.grid[d] = gpubpf_get_u32(c->r);
	for (int d = 0; d < 3; d++)
		o.block[d] = gpubpf_get_u32(c->r);
	o.repeat = gpubpf_get_u32(c->r);
	o.data_in = gpubpf_get_bytes(c->r, &o.data_size_in);
	if (c->r->failed)
		return -EPROTO;
	if (!prog)
		return -EBADF;
	sys_run_turn(c->s);
	link = sys_run_link(c->s, prog);
	if (link < 0)
		return (int)link;
	err = gpubpf_direct_begin(c->s, (uint32_t)link, &o, 0, &run);
	if (err < 0)
		return note_run_failure(c->s, err);
	c->s->loaders->run = run;
	gpubpf_put_u32(c->out, gpubpf_direct_number(run));
	return 0;
}

int sys_run_result(struct sys_call *c)
{
	struct gpubpf_test_run_opts o = { .sz = sizeof(o) };
	struct gpubpf_direct_run *run = c->s->loaders ? c->s->loaders->run : NULL;
	uint32_t number = gpubpf_get_u32(c->r);
	int err;

	if (c->r->failed)
		return -EPROTO;
	if (!run || gpubpf_direct_number(run) != number)
		return -ENOENT;
	if (!gpubpf_direct_is_done(run))
		return -EAGAIN;
	o.data_size_out = gpubpf_direct_data_size(run);
	o.data_out = malloc(o.data_size_out + 1);
	err = end_run(c->s, &o);
	gpubpf_put_u32(c->out, o.retval);
	gpubpf_put_u64(c->out, o.duration);
	gpubpf_put_bytes(c->out, o.data_out, o.data_out ? o.data_size_out : 0);
	free(o.data_out);
	return note_run_failure(c->s, err);
}
