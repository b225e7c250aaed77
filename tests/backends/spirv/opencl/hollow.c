/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent must recognise PoCL binaries that lack the program's code. Such a binary crashes a process that loads it,
 * which a forked child shows.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/app.h"
#include "backends/spirv/wire/hollow.h"
#include "tests/tap.h"

static const char source[] = "__kernel void k(__global int *p) { p[get_global_id(0)] += 1; }\n";

static unsigned char binary[1 << 20];
static size_t size;

static void make(int to)
{
	unsigned char *bytes = binary;
	cl_program program;

	app_open();
	program = app_program(source, "");
	CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	if (size > sizeof(binary))
		exit(2);
	CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL));
	exit(write(to, binary, size) == (ssize_t)size ? 0 : 3);
}

/* Loads the binary. The cache is off, because PoCL ignores a binary whose program is in its cache. */
static void load(void)
{
	const unsigned char *bytes = binary;
	cl_program program;
	cl_int err;

	setenv("POCL_KERNEL_CACHE", "0", 1);
	app_open();
	program = clCreateProgramWithBinary(app_context, 1, &app_device, &size, &bytes, NULL, &err);
	exit(err || clBuildProgram(program, 1, &app_device, "", NULL, NULL) ? 1 : 0);
}

/* Removes the first file from the binary, as if that file had not existed when PoCL made the binary. */
static void remove_file(void)
{
	const size_t first = 77, files = first + sizeof(uint64_t);
	uint64_t length;

	memcpy(&length, binary + first, sizeof(length));
	if (length > size - files)
		exit(6);
	memset(binary + first, 0, sizeof(length));
	memmove(binary + files, binary + files + length, size - files - length);
	size -= length;
}

/* Overwrites three fields of the binary's header. */
static void write_header(uint32_t version, uint32_t files, uint64_t behind)
{
	memcpy(binary + 16, &version, sizeof(version));
	memcpy(binary + 32, &files, sizeof(files));
	memcpy(binary + 77, &behind, sizeof(behind));
}

/*
 * Loads the binary in a child process. Returns 0 if that succeeds, the number of the signal that killed the child, -1
 * if the child failed otherwise, or -2 if there was no child.
 */
static int loads(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		if (!freopen("/dev/null", "w", stderr))
			exit(4);
		load();
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -2;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -1 : 0;
}

int main(void)
{
	ssize_t got;
	int ends[2], how;

	if (pipe(ends))
		return 1;
	if (!fork()) {
		close(ends[0]);
		make(ends[1]);
	}
	close(ends[1]);
	while (size < sizeof(binary) && (got = read(ends[0], binary + size, sizeof(binary) - size)) > 0)
		size += got;
	wait(&how);
	if (WIFEXITED(how) && WEXITSTATUS(how) == 77) {
		printf("1..0 # SKIP no PoCL here\n");
		return 0;
	}
	ok(!how && size > 85 && !memcmp(binary, "poclbin", 8), "PoCL gives a binary (%zu bytes, %d)", size, how);
	ok(!gpubpf_pocl_binary_lacks_code(binary, size), "it has the code");
	ok(loads() == 0, "it is loaded");
	ok(!gpubpf_pocl_binary_lacks_code(binary, 84) && !gpubpf_pocl_binary_lacks_code(binary, 0), "of too few bytes nothing is said");
	remove_file();
	ok(gpubpf_pocl_binary_lacks_code(binary, size), "without the code it is known");
	how = loads();
	ok(how == -1 || how == SIGABRT, "which matters: who loads it ends so: %d", how);
	write_header(9, 1, 0);
	ok(gpubpf_pocl_binary_lacks_code(binary, size), "version 9: a file of no bytes");
	write_header(9, 1, 100);
	ok(!gpubpf_pocl_binary_lacks_code(binary, size), "one of some");
	write_header(11, 1, 0);
	ok(!gpubpf_pocl_binary_lacks_code(binary, size), "version 11: a file, and no variables of the program's, which stand there then");
	write_header(11, 0, 0);
	ok(gpubpf_pocl_binary_lacks_code(binary, size), "no file");
	write_header(13, 0, 0);
	ok(!gpubpf_pocl_binary_lacks_code(binary, size), "of a version that is not known nothing is said");
	write_header(9, 1, 0);
	binary[0] = 'q';
	ok(!gpubpf_pocl_binary_lacks_code(binary, size), "others' binaries are none of this");
	return done();
}
