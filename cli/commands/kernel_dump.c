/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf kernel dump: builds the twin of a GPU kernel that a file contains. It prints the twin, or the code after a
 * stage or pass. No device is used, so steps of a device's own compiler are omitted.
 */
#include "dump_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/load/load.h"
#include "core/model/diag.h"
#include "core/session/session.h"
#include "core/session/twins/session_twins.h"
#include "core/session/twins/twin_dump.h"
#include "core/wire/files/open_file.h"
#include "core/worker/job.h"
#include "core/worker/transport.h"

#define MACHINE_CUDA 190
#define MACHINE_AMDGPU 224
#define DEFAULT_PTX_CPU "sm_90"
#define ALL_STAGES ((1u << GPUBPF_NSTAGES) - 1)

/* -- the file -- */

static bool starts_with(const struct gpubpf_image *image, const char *magic, size_t size)
{
	return image->size >= size && !memcmp(image->data, magic, size);
}

/* Returns true if the file is PTX text: its first directive, after comments, is .version (PTX ISA 5.2). */
static bool is_ptx(const struct gpubpf_image *image)
{
	const char *at = image->data;

	for (;;) {
		at += strspn(at, " \t\r\n");
		if (!strncmp(at, "//", 2))
			at += strcspn(at, "\n");
		else if (!strncmp(at, "/*", 2) && strstr(at, "*/"))
			at = strstr(at, "*/") + 2;
		else
			return !strncmp(at, ".version", 8);
	}
}

/*
 * Return the kind of an ELF file. A file whose machine type is neither CUDA nor AMDGPU is treated as an application
 * that embeds NVIDIA code.
 */
static enum gpubpf_image_kind elf_kind(const struct gpubpf_image *image)
{
	Elf64_Ehdr head;

	memcpy(&head, image->data, sizeof(head));
	return head.e_machine == MACHINE_CUDA   ? GPUBPF_IMAGE_CUBIN :
	       head.e_machine == MACHINE_AMDGPU ? GPUBPF_IMAGE_AMDGPU :
						  GPUBPF_IMAGE_FATBIN;
}

static enum gpubpf_image_kind find_kind(const struct gpubpf_image *image)
{
	if (image->size > sizeof(Elf64_Ehdr) && starts_with(image, ELFMAG, SELFMAG))
		return elf_kind(image);
	if (starts_with(image, "\x50\xed\x55\xba", 4))
		return GPUBPF_IMAGE_FATBIN;
	if (starts_with(image, "\x03\x02\x23\x07", 4))
		return GPUBPF_IMAGE_SPIRV;
	if (starts_with(image, "__CLANG_OFFLOAD_BUNDLE__", 24) || starts_with(image, "CCOB", 4))
		return GPUBPF_IMAGE_OFFLOAD_BUNDLE;
	return is_ptx(image) ? GPUBPF_IMAGE_PTX : GPUBPF_IMAGE_OPENCL_C;
}

static int read_bytes(int fd, char *data, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = read(fd, data + got, size - got);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		got += n;
	}
	data[size] = 0; /* formats that are text need a terminating NUL */
	return 0;
}

/* Read the file into memory. It is not mapped, because another process could truncate it. */
static int read_image(const char *path, struct gpubpf_image *image)
{
	int fd = gpubpf_open_regular(AT_FDCWD, path, 0), err = fd < 0 ? fd : 0;
	struct stat st = { 0 };
	char *data = NULL;

	if (!err && fstat(fd, &st) < 0)
		err = -errno;
	else if (!err && (uint64_t)st.st_size > GPUBPF_JOB_MAX)
		err = -EFBIG;
	else if (!err && !(data = malloc(st.st_size + 1)))
		err = -ENOMEM;
	if (!err)
		err = read_bytes(fd, data, st.st_size);
	if (fd >= 0)
		close(fd);
	if (err < 0) {
		free(data);
		cli_error("%s: %s", path, strerror(-err));
		return CLI_FAILED;
	}
	*image = (struct gpubpf_image){
		.data = data, .size = st.st_size, .options = "", .cwd = "", .kernel = "", .places = UINT32_MAX
	};
	image->kind = find_kind(image);
	return CLI_OK;
}

/* -- the architecture -- */

/*
 * Store in caps the architecture of the kernel's machine code. A file can contain code for several architectures; the
 * last match is used.
 */
static void find_arch(const struct gpubpf_image *image, const char *kernel, struct gpubpf_device_caps *caps)
{
	const struct gpubpf_target_info *target = gpubpf_target_next_accepting(image->kind, NULL);
	struct gpubpf_kernel_info *infos = NULL;
	struct gpubpf_worker_opts opts = { 0 };
	struct gpubpf_worker *worker;
	struct gpubpf_diag diag;
	uint32_t n = 0;

	while (target && !target->machine)
		target = gpubpf_target_next_accepting(image->kind, target);
	gpubpf_diag_init(&diag);
	if (!target || gpubpf_worker_create(&opts, &worker) < 0)
		return;
	if (!gpubpf_worker_inspect(worker, target->name, image, caps, &infos, &n, &diag))
		for (uint32_t i = 0; i < n; i++)
			if (!strcmp(infos[i].name, kernel) && infos[i].arch[0])
				snprintf(caps->arch, sizeof(caps->arch), "%s", infos[i].arch);
	free(infos);
	gpubpf_worker_destroy(worker);
}

static struct gpubpf_device_caps make_device(const struct cli_args *args, const struct gpubpf_image *image,
					     const char *kernel)
{
	struct gpubpf_device_caps caps = cli_dump_device(cli_str(args, OPT_CPU, NULL));

	caps.bits |= GPUBPF_CAP_SM_ID;
	if (image->kind == GPUBPF_IMAGE_OPENCL_C || image->kind == GPUBPF_IMAGE_SPIRV)
		caps.bits |= GPUBPF_CAP_X86; /* treat the device as a CPU, where every place is supported */
	if (caps.arch[0])
		return caps;
	if (image->kind == GPUBPF_IMAGE_PTX)
		snprintf(caps.arch, sizeof(caps.arch), "%s", DEFAULT_PTX_CPU);
	else
		find_arch(image, kernel, &caps);
	return caps;
}

/* -- the programs -- */

/* Load the objects that --object names and the ready probes that --probe names. */
static int load_programs(const struct cli_args *args, struct gpubpf_loaded **loaded)
{
	const struct cli_values *objects = &args->option[OPT_OBJECT];
	struct cli_args only = *args;
	char **probes = NULL, **paths;
	uint32_t n = 0;
	int status = cli_probe_objects(args, NULL, &probes);

	while (status == CLI_OK && probes[n])
		n++;
	paths = calloc(objects->n + n + 1, sizeof(*paths));
	for (uint32_t i = 0; paths && i < objects->n; i++)
		paths[i] = (char *)objects->value[i];
	for (uint32_t i = 0; paths && i < n; i++)
		paths[objects->n + i] = probes[i];
	only.rest = paths;
	only.nrest = objects->n + n;
	if (status == CLI_OK)
		status = paths ? cli_load(&only, loaded) : CLI_FAILED;
	for (uint32_t i = 0; i < n; i++)
		free(probes[i]);
	free(probes);
	free(paths);
	return status;
}

/* Create a session that is never started. With closed_libraries, kernels of closed libraries can be dumped too. */
static struct gpubpf_session *open_session(const struct cli_args *args)
{
	const struct gpubpf_session_opts opts = {
		.sz = sizeof(opts),
		.route = cli_str(args, OPT_ROUTE, NULL),
		.closed_libraries = true,
	};
	struct gpubpf_session *s = gpubpf_session__new(&opts);

	if (s)
		gpubpf_session_set_assembler(s, cli_assembler());
	return s;
}

static int dump(const struct cli_args *args, const struct gpubpf_image *image, struct gpubpf_unit *unit)
{
	struct gpubpf_device_caps caps = make_device(args, image, args->rest[1]);
	struct gpubpf_layout layout = { 0 };
	char why[GPUBPF_DUMP_REASON_SIZE];
	const char *route;
	struct gpubpf_session *s = open_session(args);
	struct gpubpf_twin_dump_opts opts = {
		.unit = unit,
		.layout = &layout,
		.image = image,
		.caps = &caps,
		.kernel = args->rest[1],
		.after = cli_str(args, OPT_AFTER, "inject"),
	};
	struct gpubpf_blob code = { 0 };
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = s ? cli_dump_prepare(unit, &caps, &layout, &diag) : -errno;
	if (err < 0) {
		gpubpf_diag_set(&diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s", strerror(-err));
		cli_diag(&diag);
	} else if ((err = gpubpf_twin_dump(s, &opts, &code, &route, why)) < 0) {
		cli_error("%s: kernel '%s': %s", args->rest[0], args->rest[1], why);
	} else {
		cli_dump_print(&code, stdout);
	}
	free(code.data);
	gpubpf_layout_finish(&layout);
	cli_dump_release(unit);
	gpubpf_session__free(s);
	return err < 0 ? CLI_FAILED : CLI_OK;
}

static int check_args(const struct cli_args *args)
{
	const char *after = cli_str(args, OPT_AFTER, NULL), *route = cli_str(args, OPT_ROUTE, NULL);
	int status = after ? cli_dump_check_pass(after, ALL_STAGES, ALL_STAGES) : CLI_OK;

	if (status != CLI_OK)
		return status;
	if (route && !cli_value_known(OPT_ROUTE, route))
		return CLI_USAGE;
	if (args->nrest == 2 && (cli_has(args, OPT_OBJECT) || cli_has(args, OPT_PROBE)))
		return CLI_OK;
	if (args->nrest == 2)
		cli_error("kernel dump: no BPF programs; pass an object with -o, or a ready probe with -p");
	else
		cli_error("kernel dump: pass a file and the name of one of its kernels, as in gpubpf kernel dump -p "
			  "threads app.ptx scale");
	return CLI_USAGE;
}

int gpubpf_cmd_kernel_dump(const struct cli_args *args)
{
	struct gpubpf_loaded *loaded;
	struct gpubpf_image image;
	int status = check_args(args);

	if (status != CLI_OK)
		return status < 0 ? CLI_OK : status;
	status = load_programs(args, &loaded);
	if (status != CLI_OK)
		return status;
	status = read_image(args->rest[0], &image);
	if (status == CLI_OK) {
		status = dump(args, &image, &loaded->unit);
		free((void *)image.data);
	}
	gpubpf_loaded_destroy(loaded);
	return status;
}
