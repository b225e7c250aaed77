/* SPDX-License-Identifier: Apache-2.0 */
/* loads LOADER [DRIVER]: a program that comes with an OpenCL loader, and with a driver's name uses it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*platforms)(const char *driver) = lib ? (int (*)(const char *))dlsym(lib, "clGetPlatformIDs") : NULL;

	if (!platforms || (argc > 2 && platforms(argv[2])))
		return 1;
	puts("done");
	return 42;
}
