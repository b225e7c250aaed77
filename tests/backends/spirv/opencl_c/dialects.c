/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap-dialects [-d] CLREAD BUILD: does clang read a source like the device's own compiler? The source has a kernel for
 * each macro and value that it tests. For each option, the reader must list the same kernels as the program that the
 * runtime builds. The reader must refuse sources whose branches it cannot decide.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask.h"
#include "core/model/diag.h"
#include "device.h"
#include "tests/tap.h"

enum { TEXT = 1 << 16, NAMES = 1 << 15 };

static struct gpubpf_worker *clread, *build;
static struct device dev;

static const char *const options[] = {
	"", "-cl-std=CL1.0", "-cl-std=CL1.1", "-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0", "-cl-std=CL3.1", "-cl-std=CLC++",
	"-cl-fast-relaxed-math", "-cl-denorms-are-zero", "-cl-finite-math-only", "-cl-unsafe-math-optimizations -cl-std=CL2.0",
	"-cl-single-precision-constant", "-cl-mad-enable -cl-std=CL3.0", "-cl-opt-disable", "-DGIVEN", "-DGIVEN=__OPENCL_C_VERSION__",
	"-D GIVEN=300 -cl-std=CL1.2", "-U__ENDIAN_LITTLE__", "-DGIVEN=cl_khr_fp64 -cl-std=CL3.0",
};

/* macros that the source tests with #ifdef */
static const char *const names[] = {
	"GIVEN", "__OPENCL_VERSION__", "__OPENCL_C_VERSION__", "__OPENCL_CPP_VERSION__", "CL_VERSION_1_0", "CL_VERSION_1_1",
	"CL_VERSION_1_2", "CL_VERSION_2_0", "CL_VERSION_2_1", "CL_VERSION_2_2", "CL_VERSION_3_0", "CL_VERSION_3_1",
	"__ENDIAN_LITTLE__", "__IMAGE_SUPPORT__", "__FAST_RELAXED_MATH__", "__kernel_exec", "__EMBEDDED_PROFILE__", "FP_FAST_FMA",
	"FP_FAST_FMAF", "FP_FAST_FMA_HALF", "CLK_VERSION_1_0", "NULL", "INFINITY", "NAN", "M_PI", "M_PI_F", "MAXFLOAT", "HUGE_VAL",
	"INT_MAX", "DBL_MAX", "HALF_MAX", "CHAR_BIT", "CLK_LOCAL_MEM_FENCE", "CLK_NORMALIZED_COORDS_TRUE", "ATOMIC_VAR_INIT",
	"ATOMIC_FLAG_INIT", "cl_khr_fp16", "cl_khr_fp64", "cl_khr_3d_image_writes", "cl_khr_subgroups", "cl_khr_subgroup_ballot",
	"cl_khr_subgroup_shuffle", "cl_khr_subgroup_extended_types", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics",
	"cl_khr_global_int32_base_atomics", "cl_khr_local_int32_base_atomics", "cl_khr_byte_addressable_store", "cl_khr_icd",
	"cl_khr_spir", "cl_khr_il_program", "cl_khr_depth_images", "cl_khr_gl_msaa_sharing", "cl_khr_mipmap_image",
	"cl_khr_kernel_clock", "cl_khr_integer_dot_product", "cl_khr_extended_bit_ops", "cl_khr_srgb_image_writes", "cles_khr_int64",
	"cl_intel_subgroups", "cl_intel_subgroups_short", "cl_intel_required_subgroup_size", "cl_intel_channels",
	"cl_intel_unified_shared_memory", "cl_nv_pragma_unroll", "cl_amd_media_ops", "cl_clang_storage_class_specifiers",
	"__cl_clang_function_pointers", "__opencl_c_3d_image_writes", "__opencl_c_atomic_order_acq_rel",
	"__opencl_c_atomic_order_seq_cst", "__opencl_c_atomic_scope_all_devices", "__opencl_c_atomic_scope_device",
	"__opencl_c_device_enqueue", "__opencl_c_ext_fp32_global_atomic_add", "__opencl_c_fp64", "__opencl_c_generic_address_space",
	"__opencl_c_images", "__opencl_c_int64", "__opencl_c_integer_dot_product_input_4x8bit", "__opencl_c_kernel_clock_scope_device",
	"__opencl_c_named_address_space_builtins", "__opencl_c_pipes", "__opencl_c_program_scope_global_variables",
	"__opencl_c_read_write_images", "__opencl_c_subgroups", "__opencl_c_work_group_collective_functions", "__clang__", "__GNUC__",
	"__llvm__", "__cplusplus", "__STDC__", "__STDC_VERSION__", "__OPTIMIZE__", "__FINITE_MATH_ONLY__", "__x86_64__", "__SPIR__",
	"__SPIR32__", "__SPIR64__", "__SPIRV__", "__NVPTX__", "__AMDGCN__", "__AVX2__", "__AVX512F__", "__SSE2__", "__FMA__", "__linux__",
	"__unix__", "linux", "__LP64__", "__SIZEOF_INT128__", "__USE_CLANG_OPENCL_C_H", "POCL_DEVICE_ADDRESS_BITS", "POCL_VERSION",
	"__NV_CL_C_VERSION", "__AMD__", "__GPU__", "__CPU__", "__INTEL_COMPILER", "__INTEL_LLVM_COMPILER", "__CODEPLAY__", "MAC",
	"__APPLE__", "kernel", "__kernel", "global", "vload3", "abs", "convert_int", "printf", "nothing_has_this",
};

/* macros whose values the source compares with steps[] */
static const char *const numbers[] = { "__OPENCL_VERSION__", "__OPENCL_C_VERSION__", "__OPENCL_CPP_VERSION__", "CL_VERSION_1_2",
				       "CL_VERSION_3_0", "__clang_major__", "__STDC_VERSION__", "POCL_DEVICE_ADDRESS_BITS",
				       "__SIZEOF_POINTER__", "__CHAR_BIT__", "__ENDIAN_LITTLE__", "cl_khr_fp64", "INT_MAX" };
static const long steps[] = { 0, 1, 4, 8, 14, 15, 21, 22, 32, 64, 99, 100, 109, 110, 119, 120, 199, 200, 299, 300, 309, 310, 199900, 0x7ffffffe };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const char *write_source(void)
{
	static char text[TEXT];
	char *to = text;

	to += sprintf(to, "#define VERSION(of) ((of) + 0)\n");
	for (size_t i = 0; i < COUNT(names); i++)
		to += sprintf(to, "#%s %s\nkernel void is_%zu(void) {}\n#endif\n", "ifdef", names[i], i);
	for (size_t i = 0; i < COUNT(numbers); i++)
		for (size_t k = 0; k < COUNT(steps); k++)
			to += sprintf(to, "#if VERSION(%s) > %ld\nkernel void has_%zu_%zu(void) {}\n#endif\n", numbers[i], steps[k], i, k);
	sprintf(to, "kernel void always(void) {}\n");
	return text;
}

/*
 * Returns the names of the kernels that the runtime builds from the text, separated by semicolons, or NULL if it
 * refuses the options.
 */
static char *built_kernels(const char *text, const char *with)
{
	static char list[NAMES];
	cl_program p = clCreateProgramWithSource(dev.context, 1, &text, NULL, NULL);
	cl_int err = clBuildProgram(p, 1, &dev.id, with, NULL, NULL);

	strcpy(list, ";");
	if (!err)
		err = clGetProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, sizeof(list) - 2, list + 1, NULL);
	strcat(list, ";");
	clReleaseProgram(p);
	return err ? NULL : list;
}

static char said[sizeof(((struct gpubpf_diag *)0)->what)]; /* the reason why the reader refused the last source */

static struct gpubpf_kernel_info *inspect_on(const struct gpubpf_device_caps *caps, const char *text, const char *with, const char *answer,
					     uint32_t *n)
{
	struct gpubpf_image image = { .data = text, .size = strlen(text), .kind = GPUBPF_IMAGE_OPENCL_C, .options = with, .cwd = "" };
	char *own = answer ? NULL : ask_compiler(clread, build, &image, caps, &dev.caps);
	struct gpubpf_kernel_info *infos = NULL;
	struct gpubpf_diag diag;

	*n = 0;
	image.answer = answer ? answer : own;
	gpubpf_diag_init(&diag);
	if (gpubpf_worker_inspect(clread, "wrap", &image, caps, &infos, n, &diag) < 0)
		*n = 0;
	snprintf(said, sizeof(said), "%s", diag.what);
	free(own);
	return infos;
}

static struct gpubpf_kernel_info *inspect(const char *text, const char *with, const char *answer, uint32_t *n)
{
	return inspect_on(&dev.caps, text, with, answer, n);
}

static bool is_listed(const struct gpubpf_kernel_info *infos, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(infos[i].name, name))
			return true;
	return false;
}

static uint32_t count(const char *list)
{
	uint32_t n = 0;

	for (; (list = strchr(list, ';')) && list[1]; list++)
		n++;
	return n;
}

static void sweep(const char *text, const char *with)
{
	const char *built = built_kernels(text, with);
	struct gpubpf_kernel_info *infos;
	uint32_t n, same = 0, refused = 0;

	if (!built) {
		skip(with, "the device does not take this option");
		return;
	}
	infos = inspect(text, with, NULL, &n);
	for (uint32_t i = 0; i < n; i++) {
		char name[300];

		snprintf(name, sizeof(name), ";%s;", infos[i].name);
		same += strstr(built, name) != NULL;
		refused += infos[i].reason[0] != 0;
		if (!strstr(built, name))
			note("the device does not have %s", infos[i].name);
		if (infos[i].reason[0] && refused == 1)
			note("%s", infos[i].reason);
	}
	ok(infos && n == same && n == count(built) && !refused && is_listed(infos, n, "always"),
	   "'%s': the reader has %u of the device's %u kernels, %u refused", with, same, count(built), refused);
	free(infos);
}

/* sources, and the reason why the reader must refuse their kernel k; "": the reader must accept it */
static const struct verdict {
	const char *with, *text, *answer, *reason;
} verdicts[] = {
	{ "-cl-std=CL3.1", "int kept = 7;\nkernel void k(int v) { kept = v; }\n", NULL, "program-scope variables" },
	{ "-cl-std=CL3.1", "static int kept[2];\nkernel void k(int v) { kept[0] = v; }\n", NULL, "program-scope variables" },
	{ "-cl-std=CL3.1", "kernel void k(global int *o) { static int n; o[0] = n++; }\n", NULL, "program-scope variables" },
	{ "-cl-std=CL3.1", "#if __OPENCL_C_VERSION__ >= 200\nglobal int kept = 7;\n#define SET(x) kept = x\n#else\n#define SET(x)\n#endif\n"
	  "kernel void k(int v) { SET(v); }\n", NULL, "program-scope variables" },
	{ "-cl-std=CL3.1", "#if __OPENCL_C_VERSION__ == 310 && defined(__opencl_c_program_scope_global_variables)\nint kept;\n#endif\n"
	  "kernel void k(int v) { }\n", NULL, "program-scope variables" },
	{ "-cl-std=CL3.1", "const sampler_t s = CLK_FILTER_NEAREST;\nconstant int t[2] = { 1, 2 };\nkernel void k(int v) {}\n", NULL, "" },
	{ "-cl-std=CL1.2", "#if __OPENCL_C_VERSION__ >= 200\nglobal int kept = 7;\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#define A B\n#define B __OPENCL_C_VERSION__\n#if A > 100\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#if /* a\ncomment */ defined \\\n__ENDIAN_LITTLE__ // of one\nkernel void k(int v) { }\n#else\n#error\n#endif\n", NULL, "" },
	{ "", "kernel void k(int v) { }\n", "!it is mute", "" },
	{ "", "#if 0\n#endif\nkernel void k(int v) { }\n", "!it is mute", "(it is mute)" },
	{ "", "#if 1\n#endif\nkernel void k(int v) { }\n", "gpubpf:@0-@1=120@2-", "answer is truncated" },
	{ "", "#if 1\n#endif\nkernel void k(int v) { }\n", "\n", "answer is truncated" },
	{ "", "kernel void k(int v) { }\n#if 0\n#elif 1\n#endif\n", "gpubpf:@0-@1=120@2-@3-@4-@5-@@0.@@", "another branch of #if than clang 22 (line 2)" },
	{ "", "kernel void k(int v) { }\n#if 0\n#elif 1\n#endif\n", "gpubpf:@0-@1=120@2-@3-@4-@5-@@1.@@", "" },
	{ "", "#if __COUNTER__\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#define N ( __COUNTER__ )\n#define M(x) x + N\n#if 0\n#elif M(1) > 1\n#else\n#endif\n#if __OPENCL_C_VERSION__\n#endif\n"
	  "kernel void k(int v) { }\n", NULL, "" },
	{ "", "#define N __COUNTER__\n#if N\n#define A\n#endif\nkernel void k(int v) { }\n", NULL, "a branch that tests __COUNTER__" },
	{ "", "#if __COUNTER__\n#elif 1\n#undef A\n#endif\nkernel void k(int v) { }\n", NULL, "a branch that tests __COUNTER__" },
	{ "", "#if __COUNTER__ == 7\n#if 1\n#endif\n#endif\nkernel void k(int v) { }\n", NULL, "a branch that tests __COUNTER__" },
	{ "", "#if __COUNTER__ || __has_builtin(__builtin_fmax)\n#endif\nkernel void k(int v) { }\n", NULL, "tests both __COUNTER__ and" },
	{ "", "#if __COUNTER__\n#elif __has_builtin(__builtin_fmax)\n#endif\nkernel void k(int v) { }\n", NULL, "a branch that tests __COUNTER__" },
	{ "", "#if __COUNTER__ > __clang_major__\n#endif\nkernel void k(int v) { }\n", "gpubpf:@0=0@1-@2=120@3=1 x@4-@5-@6-@7-@@@@", "whose values differ" },
	{ "", "#define V __VERSION__\n#if __COUNTER__\n#endif\n#ifdef V\n#endif\n#ifdef __VERSION__\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#define AT __LINE__\n#if AT > 1\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#if 1\n#define AT __LINE__\n#elif 0\n\n#endif\n\n#if 0\n#if 1\n#endif\n#elif AT != 10\n#error\n#elif AT == 12\n"
	  "kernel void k(int v) { }\n#else\n#error\n#endif\n#if AT != 17\n#error\n#endif\n", NULL, "" },
	{ "", "#if __LINE__ == 1\n#endif\nkernel void k(int v) { }\n", "gpubpf:@0=1@1-@2=120@3-@4-@5-@6-@@0.@@", "whose values differ" },
	{ "", "#if 0 || \\\n__LINE__\n#endif\nkernel void k(int v) { }\n", NULL, "__LINE__ spans several lines" },
	{ "", "#line 7\n#if __LINE__ == 7\n#endif\nkernel void k(int v) { }\n", NULL, "__LINE__ and contains #line" },
	{ "", "#line 7\n#if 0 || \\\n1\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#if __has_include(\"none.h\") || defined(__has_include) && __has_include( <none.h> )\n#error\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#define H \"none.h\"\n#if __has_include(H)\n#endif\nkernel void k(int v) { }\n", NULL, "whether files exist" },
	{ "", "#define HAS __has_include(\"none.h\")\n#if HAS\n#endif\nkernel void k(int v) { }\n", NULL, "whether files exist" },
	{ "", "#define NAME(x) x ## __COUNTER__\n#if 1\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#if 0\n#include <own.h>\n#endif\nkernel void k(int v) { }\n", NULL, "" },
	{ "", "#if 0\n#include <own.h>\n#endif\nkernel void k(int v) { }\n", "gpubpf:@0-@1=120@2-@3-@4-@5-@@@@", "" },
	{ "", "#if 0\n#include <own.h>\n#endif\nkernel void k(int v) { }\n", "gpubpf:@0-@1=120@2-@3-@4-@5-@@0.1.@@", "another branch of #if than clang 22 (line 1)" },
	{ "", "#if 1\n#else\n#include <own.h>\n#endif\nkernel void k(int v) { }\n", "gpubpf:@0-@1=120@2-@3-@4-@5-@@0.@@", "" },
	{ "", "#ifdef X\n?\?=define Y\n#endif\nkernel void k(int v) { }\n", NULL, "trigraphs" },
};

static void judge(const struct verdict *v)
{
	struct gpubpf_kernel_info *infos;
	const char *reason = "not listed";
	uint32_t n;

	if (!built_kernels(v->text, v->with)) {
		skip(v->with, "verdict %zu: the device does not take its source", v - verdicts);
		return;
	}
	infos = inspect(v->text, v->with, v->answer, &n);
	for (uint32_t i = 0; i < n; i++)
		reason = strcmp(infos[i].name, "k") ? reason : infos[i].reason;
	ok(v->reason[0] ? strstr(reason, v->reason) != NULL : !reason[0], "verdict %zu, %s: %s, expected %s", v - verdicts, v->with, reason,
	   v->reason);
	free(infos);
}

/* clang 22 has built-in functions that older compilers lack, so that their branches differ. */
static void judge_versions(void)
{
	static const char text[] = "#if __has_builtin(__builtin_popcountg)\nkernel void k(int v) {}\n#else\nkernel void k(float v) {}\n#endif\n"
				   "kernel void younger(int v) {}\n";
	static const char which[] = "#if __has_builtin(__builtin_popcountg)\nkernel void younger(void) {}\n#endif\nkernel void k(void) {}\n";
	const char *built = built_kernels(which, "");
	bool younger = built && strstr(built, "younger");
	uint32_t n;
	struct gpubpf_kernel_info *infos = inspect(text, "", NULL, &n);

	ok(n && !infos[0].reason[0] == younger, "a branch by what the compiler has: %s", n ? infos[0].reason : "not read");
	free(infos);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

/* The reader must follow branches of headers like branches of the source. A missing header has its own reason. */
static void judge_headers(void)
{
	static const char text[] = "#include \"parts/first.h\"\n#include <parts/first.h>\n"
				   "#if !__has_include(<parts/first.h>) || __has_include(\"parts/none.h\") || !__has_include(\"parts/second.h\")\n"
				   "#error\n#endif\nkernel void NAME(int v) {}\nkernel void k(int v) {}\n";
	char folder[] = "/tmp/gpubpf-dialects-XXXXXX", with[64], path[64], expected[64] = "";
	struct gpubpf_kernel_info *infos;
	const char *built;
	uint32_t n;

	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/parts", folder);
	mkdir(path, 0700);
	write_file(folder, "parts/first.h", "#pragma once\n#include \"second.h\"\n");
	write_file(folder, "parts/second.h", "#if __OPENCL_C_VERSION__ >= 300\n#define NAME newer\n#else\n#define NAME older\n#endif\n");
	snprintf(with, sizeof(with), "-I%s", folder);
	built = built_kernels(text, with);
	infos = inspect(text, with, NULL, &n);
	if (n == 2)
		snprintf(expected, sizeof(expected), ";%.20s;", infos[0].name);
	ok(built && n == 2 && strstr(built, expected) && !infos[0].reason[0] && !infos[1].reason[0], "headers: %s in %s", expected, built);
	free(infos);
	snprintf(path, sizeof(path), "%s/parts/second.h", folder);
	unlink(path);
	free(inspect(text, with, NULL, &n));
	ok(!n && strstr(said, "second.h', which the program includes, was deleted after the build"), "a header is gone: %s", said);
	snprintf(path, sizeof(path), "%s/parts/first.h", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/parts", folder);
	rmdir(path);
	rmdir(folder);
}

/*
 * Tests sources with a missing header in an #if branch. With the triple of a GPU clang takes this branch; the device's
 * compiler does not take it.
 */
static void judge_branches_without_headers(void)
{
	static const char *const texts[] = {
		"#ifdef __NVPTX__\n#include <none/mark.h>\n#endif\nkernel void k(int v) {}\n",
		"#if defined(__NVPTX__) || defined(__AMDGCN__)\n#include \"none.h\"\n#else\n#define BODY\n#endif\nkernel void k(int v) { BODY }\n",
		"#define ON_GPU defined(__NVPTX__)\n#if 0\n#include <none.h>\n#elif ON_GPU\n#include <other.h>\n#endif\nkernel void k(int v) {}\n",
	};
	struct gpubpf_device_caps caps = dev.caps;

	strcpy(caps.name, "NVIDIA"); /* for this vendor args.c selects the GPU's triple */
	for (size_t i = 0; i < COUNT(texts); i++) {
		uint32_t n;
		struct gpubpf_kernel_info *infos = inspect_on(&caps, texts[i], "", NULL, &n);

		ok(n == 1 && !infos[0].reason[0], "no header, branch %zu: %s", i, n ? infos[0].reason : said);
		free(infos);
		infos = inspect_on(&caps, texts[i], "", "!it is mute", &n);
		ok(n == 1 && strstr(infos[0].reason, "(it is mute)"), "no header and no answer, branch %zu: %s", i, n ? infos[0].reason : said);
		free(infos);
	}
}

/*
 * If only the device's compiler finds a header, the reader must report that clang does not find it. If neither finds
 * the header, the reader must report that the header was deleted.
 */
static void judge_own_headers(void)
{
	static const char text[] = "#include \"none/own.h\"\nkernel void k(int v) {}\n";
	uint32_t n;
	struct gpubpf_kernel_info *infos = inspect(text, "", "gpubpf:@0-@1=120@2-@3-@4-@5-@@0.@@", &n);

	ok(n == 1 && strstr(infos[0].reason, "compiler finds 'none/own.h', but clang 22 does not (line 1)"), "a header of the device's own: %s",
	   n ? infos[0].reason : said);
	free(infos);
	free(inspect(text, "", "gpubpf:@0-@1=120@2-@3-@4-@5-@@1.@@", &n));
	ok(!n && strstr(said, "'none/own.h', which the program includes, was deleted"), "a header that the device does not find: %s", said);
}

/* NVIDIA's compiler searches for headers in the working directory and in its subfolder include. */
static void judge_searched(void)
{
	static const char text[] = "#include <in.h>\n#include \"out.h\"\n#ifdef IN\nkernel void IN(int v) {}\n#endif\nkernel void OUT(int v) {}\n";
	char folder[] = "/tmp/gpubpf-dialects-XXXXXX", path[64];
	struct gpubpf_image image = { .data = text, .size = strlen(text), .kind = GPUBPF_IMAGE_OPENCL_C, .options = "", .cwd = folder };
	struct gpubpf_device_caps caps = dev.caps;
	struct gpubpf_kernel_info *infos = NULL;
	struct gpubpf_diag diag;
	uint32_t n = 0;

	if (!mkdtemp(folder))
		abort();
	strcpy(caps.name, "NVIDIA");
	snprintf(path, sizeof(path), "%s/include", folder);
	mkdir(path, 0700);
	write_file(folder, "include/in.h", "#define IN inner\n");
	write_file(folder, "include/out.h", "#define OUT wrong\n");
	write_file(folder, "out.h", "#define OUT outer\n");
	image.answer = ask_compiler(clread, build, &image, &caps, &dev.caps);
	gpubpf_diag_init(&diag);
	if (gpubpf_worker_inspect(clread, "wrap", &image, &caps, &infos, &n, &diag) < 0)
		n = 0;
	ok(n == 2 && is_listed(infos, n, "inner") && is_listed(infos, n, "outer") && !infos[0].reason[0],
	   "headers where NVIDIA's compiler looks by itself: %s", n ? infos[0].reason : diag.what);
	free(infos);
	free((char *)image.answer);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	ok(!system(path), "they are removed");
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts opts = { .memory = UINT64_MAX };
	const char *what = "", *icd = getenv("GPUBPF_TEST_INTEL"), *text = write_source();
	bool intel = argc == 4;

	if (intel && (!icd || access(icd, R_OK) || setenv("OCL_ICD_VENDORS", icd, 1))) {
		skip("dialects", "GPUBPF_TEST_INTEL names no libintelocl.so");
		return done();
	}
	if (device_open(&dev, &what)) {
		skip("dialects", "no OpenCL device (%s)", what);
		return done();
	}
	opts.path = argv[argc - 1];
	gpubpf_worker_create(&opts, &build);
	opts.path = argv[argc - 2];
	opts.memory = 0;
	gpubpf_worker_create(&opts, &clread);
	note("device %s, %s", dev.caps.name, dev.caps.driver);
	for (size_t i = 0; i < COUNT(options); i++)
		sweep(text, options[i]);
	for (size_t i = 0; i < COUNT(verdicts); i++)
		judge(&verdicts[i]);
	judge_versions();
	judge_headers();
	judge_branches_without_headers();
	judge_own_headers();
	judge_searched();
	gpubpf_worker_destroy(build);
	gpubpf_worker_destroy(clread);
	return done();
}
