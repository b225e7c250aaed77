/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-libgpubpf-dlopened LIBRARY OBJECT: loads libgpubpf with dlopen() into a process that is not linked with the
 * library and that uses another copy of libbpf.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpubpf/gpubpf.h"
#include "tests/tap.h"

/* the functions that the test finds with dlsym() */
#define FUNCTIONS(X) \
	X(session__new) X(session__free) X(session__add_object) X(session__load) X(session__start) X(session__error) \
	X(session__environ) X(session__next_map)
#define MEMBER(name) __typeof__(gpubpf_##name) *name;
#define FIND(name) lib.name = (__typeof__(lib.name))dlsym(handle, "gpubpf_" #name), found &= lib.name != NULL;

static struct {
	FUNCTIONS(MEMBER)
} lib;

static int messages; /* number of messages that the other libbpf has printed */

static int on_message(int level, const char *fmt, va_list ap)
{
	messages++;
	return 0;
}

static bool has_variable(char *const *env, const char *start, const char *end)
{
	for (; *env; env++)
		if (!strncmp(*env, start, strlen(start)) && strlen(*env) > strlen(end) &&
		    !strcmp(*env + strlen(*env) - strlen(end), end))
			return true;
	return false;
}

static void test_session(const char *object)
{
	char *base[] = { NULL }, **env = NULL;
	struct gpubpf_session *s = lib.session__new(NULL);

	ok(!lib.session__add_object(s, object) && !lib.session__load(s), "an object loads: %s", lib.session__error(s));
	ok(lib.session__next_map(s, NULL) != NULL, "it has maps");
	ok(!lib.session__start(s), "the session starts: %s", lib.session__error(s));
	ok(!lib.session__environ(s, base, &env) && has_variable(env, "LD_PRELOAD=/", "/libgpubpf-agent.so"),
	   "the agent is found: %s", lib.session__error(s));
	free(env);
	lib.session__free(s);
}

/* The other libbpf still prints its own messages, and its bpf(2) calls still go to the Linux kernel. */
static void test_other(void *other, const char *object)
{
	void *(*set_print)(void *) = (void *(*)(void *))dlsym(other, "libbpf_set_print");
	void *(*open_file)(const char *, const void *) = (void *(*)(const char *, const void *))dlsym(other,
		"bpf_object__open_file");
	union bpf_attr attr = { .map_type = 0x7fff };

	set_print(on_message);
	test_session(object);
	ok(messages == 0, "nothing of ours is said by another libbpf");
	open_file("/nonexistent", NULL);
	ok(messages > 0, "and it says its own");
	ok(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) == -1 && (errno == EINVAL || errno == EPERM),
	   "bpf(2) is the kernel's");
}

int main(int argc, char **argv)
{
	void *handle = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL, *other;
	bool found = true;

	if (!ok(handle != NULL, "the library is loaded: %s", handle ? argv[1] : dlerror()))
		return done();
	FUNCTIONS(FIND)
	if (!ok(found, "its functions are found"))
		return done();
	test_session(argv[2]);
	other = dlopen("libbpf.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (other)
		test_other(other, argv[2]);
	else
		skip("beside another libbpf", "there is no libbpf.so.1");
	return done();
}
