/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of kernels from templates, looked up by name, and of kernels from linked modules. */
#include <dlfcn.h>
#include <stdio.h>

#include "app.h"

/* Launches a template's kernel by its mangled name. */
static void launch_templated(int digits)
{
	char name[8192], module_text[9000];
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;

	snprintf(name, sizeof(name), "_Z4longI%0*dinTheMiddle%0*dEvPj", digits, 0, digits, 0);
	snprintf(module_text, sizeof(module_text),
		 HEADER ".visible .entry %s(.param .u64 to)\n{\n//fake param\n//fake counter\n"
			"\tret;\n}\n",
		 name);
	begin(0);
	GOOD(cu.cuModuleLoadData(&module, module_text));
	GOOD(cu.cuModuleGetFunction(&f, module, name));
	word = new_word();
	for (int i = 0; i < 5; i++)
		run(f, word, 2, NULL);
	told(name, 5, 5 * 128);
}

void templated(void)
{
	launch_templated(300);
}

void too_long(void)
{
	launch_templated(3000);
}

/* Two PTX texts that are linked together: once by the driver, and once by a dlopen()ed nvJitLink. */
static const char linked_kernel[] = HEADER ".extern .func part(.param .b32 x);\n" ENTRY(
	linked, "//fake param\n//fake counter\n\t{ .param .b32 p; st.param.b32 [p], 1; call.uni part, (p); }\n");
static const char linked_part[] = HEADER ".visible .func part(.param .b32 x) { ret; }\n";

static void launch_linked(const void *image, unsigned blocks)
{
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;

	GOOD(cu.cuModuleLoadData(&module, image));
	GOOD(cu.cuModuleGetFunction(&f, module, "linked"));
	word = new_word();
	run(f, word, blocks, NULL);
	printf("word %u\n", *to_host(word));
}

static void link_with_library(void)
{
	void *lib = dlopen("libnvJitLink.so.13", RTLD_NOW | RTLD_LOCAL), *l;
	int (*create)(void **, unsigned, const char **), (*add)(void *, int, const void *, size_t, const char *);
	int (*complete)(void *), (*get_size)(void *, size_t *), (*get)(void *, void *), (*destroy)(void **);
	char image[4096];
	size_t size;

#define LOOK(to, name) GOOD(!(to = dlsym(lib, "nvJitLink" name)))
	LOOK(create, "Create");
	LOOK(add, "AddData");
	LOOK(complete, "Complete");
	LOOK(get_size, "GetLinkedCubinSize");
	LOOK(get, "GetLinkedCubin");
	LOOK(destroy, "Destroy");
	GOOD(create(&l, 0, NULL));
	GOOD(add(l, 2, linked_kernel, sizeof(linked_kernel), "kernel"));
	GOOD(add(l, 2, linked_part, sizeof(linked_part), "part"));
	GOOD(complete(l));
	GOOD(get_size(l, &size) || size > sizeof(image));
	GOOD(get(l, image));
	GOOD(destroy(&l));
	launch_linked(image, 2);
}

void linked(void)
{
	CUlinkState state;
	void *image;
	size_t size;

	begin(0);
	GOOD(cuLinkCreate_v2(0, NULL, NULL, &state));
	GOOD(cu.cuLinkAddData_v2(state, 1, (void *)linked_kernel, sizeof(linked_kernel), "kernel", 0, NULL, NULL));
	GOOD(cu.cuLinkAddData_v2(state, 1, (void *)linked_part, sizeof(linked_part), "part", 0, NULL, NULL));
	GOOD(cu.cuLinkComplete(state, &image, &size));
	launch_linked(image, 1);
	GOOD(cu.cuLinkDestroy(state));
	link_with_library();
	told("linked", 2, 3 * 64);
}
