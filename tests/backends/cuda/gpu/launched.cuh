/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAUNCH(kernel, blocks, threads, shared, ARGUMENT...) launches an extern "C" kernel in the form
 * that nvcc made. In a program compiled with -DFORMS, the first argument selects another form of
 * the same source file: NVRTC's PTX ("ptx") or machine code ("cubin"), that PTX linked by cuLink
 * ("culink") or nvJitLink ("nvjitlink"), or LTO-IR linked by nvJitLink ("lto").
 */
#pragma once
#include "threads.cuh"

#ifndef FORMS
#define TAKE_FORM(argc, argv) (void)0
#define LAUNCH(kernel, blocks, threads, shared, ...) kernel<<<blocks, threads, shared>>>(__VA_ARGS__)
#else
#include <cstring>
#include <tuple>
#include <cuda.h>
#include <nvJitLink.h>
#include <nvrtc.h>

#define TAKE_FORM(argc, argv) take_form(argc > 1 ? argv[1] : "", __FILE__)
#define LAUNCH(kernel, blocks, threads, shared, ...) launch(kernel, #kernel, blocks, threads, shared, __VA_ARGS__)

static CUmodule module_of_form;

static inline void good(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}

static inline std::vector<char> text_of(const char *path)
{
	FILE *file = fopen(path, "r");
	std::vector<char> text;
	int c;

	if (!file) {
		perror(path);
		exit(1);
	}
	while ((c = getc(file)) != EOF)
		text.push_back((char)c);
	fclose(file);
	text.push_back('\0');
	return text;
}

static inline std::vector<char> compiled(const char *path, const char *arch, const char *form)
{
	const bool cubin = !strcmp(form, "cubin"), lto = !strcmp(form, "lto"), linked = strstr(form, "link");
	std::vector<const char *> options = { arch, "-Iinclude", "-lineinfo" };
	nvrtcProgram program;
	size_t size;

	if (lto)
		options.push_back("-dlto");
	if (lto || linked)
		options.push_back("-rdc=true");
	good(nvrtcCreateProgram(&program, text_of(path).data(), path, 0, nullptr, nullptr), "nvrtcCreateProgram");
	if (nvrtcCompileProgram(program, (int)options.size(), options.data())) {
		std::vector<char> log(1 << 16);

		nvrtcGetProgramLog(program, log.data());
		fprintf(stderr, "%s\n", log.data());
		exit(1);
	}
	good(lto ? nvrtcGetLTOIRSize(program, &size) : cubin ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size),
	     "the size of what NVRTC made");
	std::vector<char> code(size);
	good(lto ? nvrtcGetLTOIR(program, code.data()) : cubin ? nvrtcGetCUBIN(program, code.data()) : nvrtcGetPTX(program, code.data()),
	     "what NVRTC made");
	good(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
	return code;
}

static inline std::vector<char> culinked(std::vector<char> ptx)
{
	CUlinkState linker;
	void *cubin;
	size_t size;

	good(cuLinkCreate(0, nullptr, nullptr, &linker), "cuLinkCreate");
	good(cuLinkAddData(linker, CU_JIT_INPUT_PTX, ptx.data(), ptx.size(), "kernels", 0, nullptr, nullptr), "cuLinkAddData");
	good(cuLinkComplete(linker, &cubin, &size), "cuLinkComplete");
	std::vector<char> code((char *)cubin, (char *)cubin + size);
	good(cuLinkDestroy(linker), "cuLinkDestroy");
	return code;
}

static inline std::vector<char> jitlinked(std::vector<char> code, const char *arch, bool lto)
{
	const char *options[] = { arch, "-lto" };
	nvJitLinkHandle linker;
	size_t size;

	good(nvJitLinkCreate(&linker, lto ? 2 : 1, options), "nvJitLinkCreate");
	good(nvJitLinkAddData(linker, lto ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_PTX, code.data(), code.size(), "kernels"),
	     "nvJitLinkAddData");
	good(nvJitLinkComplete(linker), "nvJitLinkComplete");
	good(nvJitLinkGetLinkedCubinSize(linker, &size), "nvJitLinkGetLinkedCubinSize");
	std::vector<char> cubin(size);
	good(nvJitLinkGetLinkedCubin(linker, cubin.data()), "nvJitLinkGetLinkedCubin");
	good(nvJitLinkDestroy(&linker), "nvJitLinkDestroy");
	return cubin;
}

static inline void take_form(const char *form, const char *path)
{
	std::vector<char> code;
	cudaDeviceProp device;
	char arch[32], real[32];

	check(cudaGetDeviceProperties(&device, 0));
	check(cudaFree(nullptr));
	snprintf(arch, sizeof(arch), "-arch=compute_%d%d", device.major, device.minor);
	snprintf(real, sizeof(real), "-arch=sm_%d%d", device.major, device.minor);
	code = compiled(path, !strcmp(form, "cubin") ? real : arch, form);
	if (!strcmp(form, "culink"))
		code = culinked(code);
	else if (!strcmp(form, "nvjitlink") || !strcmp(form, "lto"))
		code = jitlinked(code, real, !strcmp(form, "lto"));
	else if (strcmp(form, "ptx") && strcmp(form, "cubin")) {
		fprintf(stderr, "form '%s': ptx, cubin, culink, nvjitlink, lto\n", form);
		exit(2);
	}
	good(cuModuleLoadData(&module_of_form, code.data()), "cuModuleLoadData");
}

template <typename... P, typename... A>
static inline void launch(void (*)(P...), const char *name, dim3 blocks, dim3 threads, unsigned shared, A... arguments)
{
	std::tuple<P...> values(arguments...);
	CUfunction kernel;

	good(cuModuleGetFunction(&kernel, module_of_form, name), name);
	std::apply([&](auto &...value) {
		void *pointers[] = { (void *)&value... };

		good(cuLaunchKernel(kernel, blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z, shared, nullptr, pointers,
				    nullptr), name);
	}, values);
}
#endif
