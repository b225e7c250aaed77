/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepared CASE [DRIVER]: an application for tests of the idle library, which is preloaded. It prints the results of
 * the case. DRIVER is the path of a driver to load. It has a weak reference to each function that it calls, as
 * applications have that also run without a driver.
 *
 * Case missing: call functions and look up functions without a driver.
 * Case unknown: look up functions that the idle library does not have.
 * Case sizes: print the numbers of descriptors and threads.
 * Case slots: store hooks into the slots, and restore them.
 * Case hooked: hook and unhook functions as the agent does, before the application has called them and after.
 * Case unused: like hooked, also with slots that the application has not used.
 * Case early: print the result of a call that a constructor made before main().
 * Case fork: call in the child of a fork, and in a program that it executes.
 * Case modules: print the records of modules.
 * Case second: a second library with the driver's function names.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooks/process/dlsym.h"
#include "hooks/process/prepared.h"

#pragma weak cuLaunch
#pragma weak cuModuleLoad
#pragma weak cuModuleLoadData
#pragma weak cuModuleUnload
#pragma weak clCreateKernel
#pragma weak clSetKernelArg

int cuLaunch(void *f);
int cuModuleLoad(void **module, const char *path);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
void *clCreateKernel(void *program, const char *name, int *error);
int clSetKernelArg(void *kernel, unsigned index, size_t size, const void *value);

static int early;

/* The C library passes main()'s arguments to constructors. */
__attribute__((constructor)) static void call_early(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "early"))
		early = cuLaunch((void *)20);
}

static void test_missing(void)
{
	printf("cuLaunch %d\n", cuLaunch(NULL));
	printf("cuModuleUnload %d\n", cuModuleUnload(NULL));
	printf("clCreateKernel %p\n", clCreateKernel(NULL, "add", NULL));
	printf("clSetKernelArg %d\n", clSetKernelArg(NULL, 0, 8, NULL));
	printf("dlsym %p\n", dlsym(RTLD_DEFAULT, "cuLaunch"));
	printf("dlerror %d\n", dlerror() != NULL);
}

static void test_unknown(void)
{
	void *self = dlopen(NULL, RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);

	printf("cuNoSuch %p\n", dlsym(self, "cuNoSuch"));
	printf("dlerror %d\n", dlerror() != NULL);
	printf("puts %d\n", dlsym(libc, "puts") == (void *)puts && dlsym(RTLD_DEFAULT, "puts") == (void *)puts);
	printf("next %d\n", dlsym(RTLD_NEXT, "puts") == (void *)puts);
	printf("empty %p\n", dlsym(libc, ""));
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void test_sizes(void)
{
	printf("descriptors %d threads %d\n", count_entries("/proc/self/fd"), count_entries("/proc/self/task"));
}

static int (*driver_launch)(void *f);

static int hook_launch(void *f)
{
	return 1000 + driver_launch(f);
}

/* The driver adds 1 to the number in the argument. */
static void print_launch(const char *what, int (*looked_up)(void *))
{
	printf("%s %d %d\n", what, cuLaunch((void *)20), looked_up((void *)40));
}

static void test_slots(const char *driver)
{
	void *handle = dlopen(driver, RTLD_NOW);
	int (*looked_up)(void *) = (int (*)(void *))dlsym(handle, "cuLaunch");
	gpubpf_idle_open_fn open = (gpubpf_idle_open_fn)dlsym(RTLD_DEFAULT, GPUBPF_IDLE_OPEN);
	struct gpubpf_idle idle;
	void **slot;

	driver_launch = (int (*)(void *))dlvsym(handle, "cuLaunch", "DRIVER");
	if (!open || open(GPUBPF_IDLE_VERSION + 1, &idle) || !open(GPUBPF_IDLE_VERSION, &idle)) {
		puts("the library does not open");
		return;
	}
	print_launch("idle", looked_up);
	slot = idle.slot("cuLaunch");
	printf("thunk %d slot %d\n", looked_up == cuLaunch, *slot == (void *)driver_launch);
	*slot = (void *)hook_launch;
	print_launch("armed", looked_up);
	printf("look-up while armed %d\n", dlsym(handle, "cuLaunch") == (void *)looked_up);
	*slot = (void *)driver_launch;
	print_launch("disarmed", looked_up);
	printf("unknown %p\n", (void *)idle.slot("cuNoSuch"));
}

/* for hooks/process/prepared.c */
gpubpf_dlsym_fn gpubpf_dlsym_next(void)
{
	return dlsym;
}

static int (*driver_unload)(void *module);

static int hook_unload(void *module)
{
	return 2000 + driver_unload(module);
}

static void test_hooked(const char *driver, bool (*hook)(const char *, void *, void *))
{
	void *handle = dlopen(driver, RTLD_NOW), *launch = (void *)hook_launch, *unload = (void *)hook_unload;

	driver_launch = (int (*)(void *))dlvsym(handle, "cuLaunch", "DRIVER");
	driver_unload = (int (*)(void *))dlvsym(handle, "cuModuleUnload", "DRIVER");
	for (int i = 0; i < 2; i++) {
		printf("hook %d %d\n", hook("cuLaunch", (void *)driver_launch, launch),
		       hook("cuModuleUnload", (void *)driver_unload, unload));
		printf("hooked %d %d\n", cuLaunch((void *)20), cuModuleUnload(NULL));
		printf("unhook %d %d\n", gpubpf_idle_unhook("cuLaunch", (void *)driver_launch, launch),
		       gpubpf_idle_unhook("cuModuleUnload", (void *)driver_unload, unload));
		printf("unhooked %d %d\n", cuLaunch((void *)20), cuModuleUnload(NULL));
	}
	printf("unknown %d other %d twice %d\n", hook("cuNoSuch", (void *)driver_launch, launch),
	       hook("cuLaunch", (void *)puts, launch), gpubpf_idle_unhook("cuLaunch", (void *)driver_launch, launch));
}

static void test_fork(char **argv)
{
	pid_t child;

	printf("parent %d\n", cuLaunch((void *)20));
	fflush(stdout);
	child = fork();
	if (!child) {
		printf("child %d\n", cuLaunch((void *)30));
		fflush(stdout);
		execl(argv[0], argv[0], "early", NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static const char own_image[] = ".version 8.0\n// an image of the program\n";

static void print_record(const struct gpubpf_idle_module *m, void *arg)
{
	const char *slash = strrchr(m->from, '/'), *image = m->image;

	printf("%s %s, image %.24s, context %d", m->image == own_image ? "reference" : "copy",
	       slash ? slash + 1 : m->from, image ? strstr(image, "//") : "none", m->context != NULL);
	printf(", path %s\n", m->path ? m->path : "none");
}

static void print_module(const struct gpubpf_idle *idle, void *module)
{
	if (!idle->use_module(module, print_record, NULL))
		puts("no record");
}

static void test_modules(const char *other)
{
	char *buffer = strdup(".version 8.0\n// an image on the heap\n");
	void *modules[4], *unused = NULL, *library = dlopen(other, RTLD_NOW | RTLD_LOCAL);
	struct gpubpf_idle idle;

	((gpubpf_idle_open_fn)dlsym(RTLD_DEFAULT, GPUBPF_IDLE_OPEN))(GPUBPF_IDLE_VERSION, &idle);
	cuModuleLoadData(&modules[0], buffer);
	memset(buffer, 'x', strlen(buffer));
	free(buffer);
	cuModuleLoadData(&modules[1], own_image);
	cuModuleLoadData(&modules[2], dlsym(library, "driver_image"));
	cuModuleLoad(&modules[3], "/etc/passwd");
	dlclose(library);
	printf("failed %d\n", cuModuleLoadData(&unused, NULL));
	for (int i = 0; i < 4; i++)
		print_module(&idle, modules[i]);
	for (int i = 0; i < 4; i++)
		cuModuleUnload(modules[i]);
	print_module(&idle, modules[0]);
	print_module(&idle, unused);
}

/* Another library with a function of the driver's name keeps its function, whichever is looked up first. */
static void test_second(const char *other)
{
	void *handle = dlopen(other, RTLD_NOW | RTLD_LOCAL);
	int (*found)(void *) = (int (*)(void *))dlsym(handle, "cuLaunch");

	printf("other %d\n", found((void *)20));
	printf("own %d\n", cuLaunch((void *)20));
	printf("other %d\n", ((int (*)(void *))dlsym(handle, "cuLaunch"))((void *)20));
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "", *driver = argc > 2 ? argv[2] : "";

	if (!strcmp(which, "missing"))
		test_missing();
	else if (!strcmp(which, "unknown"))
		test_unknown();
	else if (!strcmp(which, "sizes"))
		test_sizes();
	else if (!strcmp(which, "slots"))
		test_slots(driver);
	else if (!strcmp(which, "hooked"))
		test_hooked(driver, gpubpf_idle_hook);
	else if (!strcmp(which, "unused"))
		test_hooked(driver, gpubpf_idle_hook_unused);
	else if (!strcmp(which, "early"))
		printf("early %d\n", early);
	else if (!strcmp(which, "fork"))
		test_fork(argv);
	else if (!strcmp(which, "modules"))
		test_modules(driver);
	else if (!strcmp(which, "second"))
		test_second(driver);
	return 0;
}
