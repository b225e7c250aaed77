/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL C reader must assemble a header from several reads: here read() returns at most 7 bytes, and fails with
 * EINTR in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/spirv/opencl_c/read/query_builder.h"
#include "tests/tap.h"

#define TEXT "#define LONG_ENOUGH 1\n#define FOR_SEVERAL_PARTS 1\n"

static unsigned calls;

/* meson.build makes the object under test call this function instead of read() */
ssize_t read_part(int fd, void *to, size_t size);
ssize_t read_part(int fd, void *to, size_t size)
{
	if (calls++ % 3 == 1) {
		errno = EINTR;
		return -1;
	}
	return read(fd, to, size < 7 ? size : 7);
}

int main(void)
{
	static const struct gpubpf_cl_source source;
	static struct cl_query query;
	static struct gpubpf_pool pool;
	static struct builder b = { .source = &source, .pool = &pool, .query = &query, .nfiles = 1 };
	char path[] = "/tmp/short-reads-XXXXXX";
	int fd = mkstemp(path);
	uint32_t found;

	if (fd < 0 || write(fd, TEXT, strlen(TEXT)) != (ssize_t)strlen(TEXT) || close(fd))
		abort();
	found = clquery_find_included(&b, &b.file[0], path, true);
	ok(found == 1 && b.file[1].size == strlen(TEXT) && !memcmp(b.file[1].text, TEXT, strlen(TEXT)),
	   "a header that comes in %u parts is read whole: %zu of %zu bytes", calls, b.file[1].size, strlen(TEXT));
	gpubpf_pool_finish(&pool);
	unlink(path);
	return done();
}
