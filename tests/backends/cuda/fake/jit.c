/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda-jit FOLDER: an application that compiles its kernels at run time and caches some of the machine code in FOLDER.
 * It uses NVIDIA's libraries or the test's fake ones. It prints the results of its kernels, and lines "kernel NAME
 * launches L items I".
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "fake.h"

/* this application links with nvJitLink, so it names the versioned functions */
int __nvJitLinkCreate_13_0(void **l, uint32_t n, const char **options);
int __nvJitLinkAddData_13_0(void *l, int type, const void *data, size_t size, const char *name);
int __nvJitLinkAddFile_13_0(void *l, int type, const char *path);
int __nvJitLinkComplete_13_0(void *l);
int __nvJitLinkGetLinkedCubinSize_13_0(void *l, size_t *size);
int __nvJitLinkGetLinkedCubin_13_0(void *l, void *image);
int __nvJitLinkDestroy_13_0(void **l);

#define HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"
#define KERNEL(name, lines) HEADER ".extern .func part(.param .b32 x);\n.visible .entry " #name "(.param .u64 to)\n{\n" \
	"//fake param\n//fake counter\n" lines "\tret;\n}\n"
#define CALL "\t{ .param .b32 p; st.param.b32 [p], 1; call.uni part, (p); }\n"

static const char kernel[] = KERNEL(linked, CALL), ir[] = "LTO-IR" KERNEL(linked, CALL);
static const char part[] = HEADER ".visible .func part(.param .b32 x) { ret; }\n";
static const char part_ir[] = "LTO-IR" HEADER ".visible .func part(.param .b32 x) { ret; }\n";
static const char source[] = KERNEL(made, "");

static void good(int error, const char *what)
{
	if (!error)
		return;
	printf("%s: error %d\n", what, error);
	exit(1);
}
#define GOOD(call) good(call, #call)

static void launch_of(CUmodule module, const char *name, const char *what, unsigned blocks)
{
	uint32_t value = 0;
	CUdeviceptr word;
	CUfunction f;
	void *params[] = { &word };

	GOOD(cuMemAlloc_v2(&word, 4096));
	GOOD(cuMemcpyHtoD_v2(word, &value, 4));
	GOOD(cuModuleGetFunction(&f, module, name));
	GOOD(cuLaunchKernel(f, blocks, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	GOOD(cuMemcpyDtoH_v2(&value, word, 4));
	printf("%s: %u\nkernel %s launches 1 items %u\n", what, value, name, blocks * 64);
}

static void launch(const void *image, const char *name, const char *what, unsigned blocks)
{
	CUmodule module;

	GOOD(cuModuleLoadData(&module, image));
	launch_of(module, name, what, blocks);
}

struct part {
	int type;
	const void *data; /* NULL: reads the file */
	size_t size;
	const char *file;
};

static void link_parts(const char *what, unsigned blocks, uint32_t n, const char **options, const struct part parts[2])
{
	char image[8192];
	size_t size;
	void *l;

	GOOD(__nvJitLinkCreate_13_0(&l, n, options));
	for (const struct part *p = parts; p < parts + 2; p++)
		GOOD(p->data ? __nvJitLinkAddData_13_0(l, p->type, p->data, p->size, "part") :
			       __nvJitLinkAddFile_13_0(l, p->type, p->file));
	GOOD(__nvJitLinkComplete_13_0(l));
	GOOD(__nvJitLinkGetLinkedCubinSize_13_0(l, &size) || size > sizeof(image));
	GOOD(__nvJitLinkGetLinkedCubin_13_0(l, image));
	GOOD(__nvJitLinkDestroy_13_0(&l));
	launch(image, "linked", what, blocks);
}

static void linked(const char *folder)
{
	const char *options[] = { "-arch=sm_90", "-lto" };
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/part.ptx", folder);
	f = fopen(path, "we");
	fputs(part, f);
	fclose(f);
	link_parts("PTX", 1, 1, options, (struct part[]){ { 2, kernel, sizeof(kernel) }, { 10, part, sizeof(part) } });
	link_parts("a file", 2, 1, options, (struct part[]){ { 2, kernel, sizeof(kernel) }, { 2, .file = path } });
	link_parts("LTO-IR", 3, 2, options, (struct part[]){ { 3, ir, sizeof(ir) }, { 3, part_ir, sizeof(part_ir) } });
	link_parts("both", 4, 2, options, (struct part[]){ { 3, ir, sizeof(ir) }, { 2, part, sizeof(part) } });
}

static void compile(void *lib, int (*get)(void *, char *), const char *what, unsigned blocks, const char *keep)
{
	int (*create)(void **, const char *, const char *, int, void *, void *) = dlsym(lib, "nvrtcCreateProgram");
	int (*get_size)(void *, size_t *) = dlsym(lib, "nvrtcGetCUBINSize");
	char image[8192], text[sizeof(source) + 32];
	size_t size;
	FILE *f;
	void *p;

	snprintf(text, sizeof(text), "%s//%s\n", source, what); /* makes the code of each kernel unique */
	GOOD(create(&p, text, "made.cu", 0, NULL, NULL));
	GOOD(get_size(p, &size) || size > sizeof(image));
	GOOD(get(p, image));
	if (keep && (f = fopen(keep, "we"))) {
		fwrite(image, 1, size, f);
		fclose(f);
	}
	launch(image, "made", what, blocks);
}

/* Loads machine code that an earlier run cached. */
static void load_cached(const char *path)
{
	char image[8192];
	FILE *f = fopen(path, "re");
	CUmodule module;

	if (!f)
		return;
	GOOD(!fread(image, 1, sizeof(image), f));
	fclose(f);
	launch(image, "made", "kept", 5);
	GOOD(cuModuleLoad(&module, path));
	launch_of(module, "made", "its file", 7);
}

int main(int argc, char **argv)
{
	int (*user_get)(void *, char *), (*(*user_function)(void))(void *, char *);
	CUcontext context;
	char path[512];
	void *lib, *user;

	GOOD(argc != 2);
	snprintf(path, sizeof(path), "%s/made.cubin", argv[1]);
	GOOD(cuInit(0));
	GOOD(cuDevicePrimaryCtxRetain(&context, 0));
	GOOD(cuCtxSetCurrent(context));
	linked(argv[1]);
	load_cached(path);
	GOOD(dlsym(RTLD_DEFAULT, "nvrtcGetCUBIN") != NULL);
	GOOD(!(user = dlopen("libnvrtc-user.so", RTLD_NOW | RTLD_LOCAL)));
	GOOD(dlsym(RTLD_DEFAULT, "nvrtcGetCUBIN") != NULL);
	user_get = (int (*)(void *, char *))dlsym(user, "user_get_cubin");
	user_function = (int (*(*)(void))(void *, char *))dlsym(user, "user_function");
	GOOD(!(lib = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL)));
	compile(lib, user_get, "by a library", 6, NULL);
	compile(lib, user_function(), "by its pointer", 7, NULL);
	compile(lib, (int (*)(void *, char *))dlsym(lib, "nvrtcGetCUBIN"), "looked up", 8, path);
	return 0;
}
