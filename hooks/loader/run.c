/* SPDX-License-Identifier: Apache-2.0 */
/* BPF_PROG_TEST_RUN for programs of the session: the session launches the program in a kernel of gpubpf. */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpubpf/run.h"

#define MIN_WAIT_NS 1000000 /* time between two requests for the result */
#define MAX_WAIT_NS 50000000

/* Reads the size of the grid from the context that the caller passes; without one, the grid has one thread. */
static int read_grid(const struct call *c, struct gpubpf_run_grid *grid)
{
	uint32_t size = c->attr.test.ctx_size_in;

	*grid = (struct gpubpf_run_grid){ { 0 }, { 0 } };
	if (!c->attr.test.ctx_in)
		return size ? -EINVAL : 0;
	if (size != sizeof(*grid))
		return -EINVAL;
	return caller_read(grid, c->attr.test.ctx_in, sizeof(*grid));
}

static int put_request(const struct call *c, uint32_t prog, struct gpubpf_writer *w)
{
	struct gpubpf_run_grid grid;
	void *data = NULL;
	int err = c->attr.test.data_size_in > GPUBPF_BPF_MAX ? -E2BIG : read_grid(c, &grid);

	if (!err && c->attr.test.data_size_in)
		data = copied(c->attr.test.data_in, c->attr.test.data_size_in, &err);
	if (err < 0)
		return err;
	gpubpf_put_u32(w, prog);
	for (int d = 0; d < 3; d++)
		gpubpf_put_u32(w, grid.grid[d]);
	for (int d = 0; d < 3; d++)
		gpubpf_put_u32(w, grid.block[d]);
	gpubpf_put_u32(w, c->attr.test.repeat);
	gpubpf_put_bytes(w, data, data ? c->attr.test.data_size_in : 0);
	free(data);
	return 0;
}

static void wait_between(long *ns)
{
	struct timespec ts = { .tv_nsec = *ns };

	nanosleep(&ts, NULL);
	*ns = *ns * 2 > MAX_WAIT_NS ? MAX_WAIT_NS : *ns * 2;
}

/* Requests the result until the run has ended. On success the answer is open. */
static int wait_for_result(uint32_t number, struct answer *a)
{
	long ns = MIN_WAIT_NS;
	int err;

	for (;;) {
		struct gpubpf_writer w = { 0 };

		gpubpf_put_u32(&w, number);
		err = ask(GPUBPF_BPF_RUN_RESULT, &w, a);
		if (err != -EAGAIN)
			return err;
		answer_close(a);
		wait_between(&ns);
	}
}

/* Writes the data buffer to the caller. As in the Linux kernel, too small a room gets the first bytes, and -ENOSPC. */
static int write_data(const struct call *c, const void *data, uint32_t size)
{
	uint32_t room = c->attr.test.data_size_out, n = size;
	int err;

	if (c->attr.test.data_out && room && n > room)
		n = room;
	if (c->attr.test.data_out && n) {
		err = caller_write(c->attr.test.data_out, data, n);
		if (err < 0)
			return err;
	}
	err = GIVE_BACK(c, test.data_size_out, size);
	return err < 0 ? err : n < size ? -ENOSPC : 0;
}

static int write_result(const struct call *c, struct answer *a)
{
	uint32_t retval = gpubpf_get_u32(&a->payload.r);
	uint64_t ns = gpubpf_get_u64(&a->payload.r);
	size_t size = 0;
	const void *data = gpubpf_get_bytes(&a->payload.r, &size);
	int err, full;

	if (a->payload.r.failed)
		return -EPROTO;
	full = write_data(c, data, (uint32_t)size);
	if (full < 0 && full != -ENOSPC)
		return full;
	err = GIVE_BACK(c, test.retval, retval);
	if (!err)
		err = GIVE_BACK(c, test.duration, ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns);
	return err < 0 ? err : full;
}

static int run(const struct call *c, uint32_t prog)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	uint32_t number;
	int err = put_request(c, prog, &w);

	if (err < 0) {
		gpubpf_writer_finish(&w);
		return err;
	}
	err = ask(GPUBPF_BPF_RUN, &w, &a);
	number = err ? 0 : gpubpf_get_u32(&a.payload.r);
	answer_close(&a);
	if (err < 0)
		return err;
	err = wait_for_result(number, &a);
	if (!err)
		err = write_result(c, &a);
	answer_close(&a);
	return err;
}

long prog_test_run(struct call *c)
{
	uint32_t prog = handle_of((int)c->attr.test.prog_fd, GPUBPF_BPF_PROG).id;

	if (!prog)
		return pass(c);
	if (c->attr.test.flags || c->attr.test.cpu || c->attr.test.batch_size || c->attr.test.ctx_out)
		return -EINVAL;
	return run(c, prog);
}
