/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf kernel inspect: lists which kernels in the NVIDIA machine code of a file can be probed. The file is an
 * application, a library, a cubin or a fatbin.
 */
#include "cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/target.h"
#include "core/wire/files/open_file.h"
#include "core/worker/job.h"
#include "core/worker/transport.h"

#define MAX_REASONS 64

struct reasons {
	struct {
		char text[240];
		uint32_t kernels;
	} reason[MAX_REASONS];
	uint32_t n, refused, kernels;
};

/* Remove the address from a reason, so that refusals that differ only in the address count as one reason. */
static void remove_address(char *text)
{
	char *at = strstr(text, " at 0x"), *end = at ? at + strcspn(at + 4, " ") + 4 : NULL;

	if (at)
		memmove(at, end, strlen(end) + 1);
}

static void add_reason(struct reasons *r, const char *reason)
{
	char text[240];
	uint32_t i = 0;

	r->kernels++;
	if (!reason[0])
		return;
	r->refused++;
	snprintf(text, sizeof(text), "%s", reason);
	remove_address(text);
	while (i < r->n && strcmp(r->reason[i].text, text))
		i++;
	if (i == MAX_REASONS)
		return;
	r->n = i == r->n ? i + 1 : r->n;
	memcpy(r->reason[i].text, text, sizeof(text));
	r->reason[i].kernels++;
}

static void write_text(const struct cli_args *args, const char *path, const struct gpubpf_kernel_info *infos,
		       uint32_t n, bool closed)
{
	const char *cpu = cli_str(args, OPT_CPU, "");
	static struct reasons r;

	r = (struct reasons){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		add_reason(&r, infos[i].reason);
		if (cli_has(args, OPT_VERBOSE))
			printf("%s (%s): %s\n", infos[i].name, infos[i].arch, infos[i].reason[0] ? infos[i].reason : "yes");
	}
	printf("%s: %u kernels, %u can be probed (%.2f %%)\n", path, r.kernels, r.kernels - r.refused,
	       r.kernels ? 100.0 * (r.kernels - r.refused) / r.kernels : 0);
	if (!r.kernels)
		printf("  it contains no NVIDIA machine code%s%s; gpubpf kernel list -- CMD lists the kernels that a "
		       "program launches, of every kind\n",
		       cpu[0] ? " for " : "", cpu);
	if (r.kernels && closed)
		printf("  this is a closed library, whose licence may not permit changes; gpubpf run probes it only "
		       "with --closed-libraries (gpubpf-run(1))\n");
	for (uint32_t i = 0; i < r.n; i++)
		printf("  %u: %s\n", r.reason[i].kernels, r.reason[i].text);
}

static void write_json(const char *path, const struct gpubpf_kernel_info *infos, uint32_t n, bool closed,
		       struct json_object *files)
{
	struct json_object *file = json_object_new_object(), *list = json_object_new_array();

	for (uint32_t i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "name", json_object_new_string(infos[i].name));
		json_object_object_add(o, "arch", json_object_new_string(infos[i].arch));
		json_object_object_add(o, "probe", json_object_new_boolean(!infos[i].reason[0]));
		json_object_object_add(o, "reason", json_object_new_string(infos[i].reason));
		json_object_object_add(o, "registers", json_object_new_int(infos[i].regs));
		json_object_array_add(list, o);
	}
	json_object_object_add(file, "file", json_object_new_string(path));
	json_object_object_add(file, "closed", json_object_new_boolean(closed));
	json_object_object_add(file, "kernels", list);
	json_object_array_add(files, file);
}

static int read_all(int fd, char *data, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = read(fd, data + got, size - got);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		got += n;
	}
	return 0;
}

/*
 * Read the file into memory. It is not mapped: if another process truncated a mapped file, an access would raise
 * SIGBUS.
 */
static int read_file(const char *path, struct gpubpf_image *image)
{
	int fd = gpubpf_open_regular(AT_FDCWD, path, 0), err = fd < 0 ? fd : 0;
	struct stat st = { 0 };
	void *data = NULL;

	if (!err && fstat(fd, &st) < 0)
		err = -errno;
	else if (!err && !st.st_size)
		err = -EINVAL;
	else if (!err && (uint64_t)st.st_size > GPUBPF_JOB_MAX)
		err = -EFBIG;
	else if (!err && !(data = malloc(st.st_size)))
		err = -ENOMEM;
	if (!err)
		err = read_all(fd, data, st.st_size);
	if (fd >= 0)
		close(fd);
	if (err < 0) {
		free(data);
		return err;
	}
	*image = (struct gpubpf_image){
		.data = data, .size = st.st_size, .kind = GPUBPF_IMAGE_FATBIN, .options = "", .cwd = ""
	};
	return 0;
}

static int open_file(const char *path, struct gpubpf_image *image)
{
	int err = read_file(path, image);

	if (err < 0) {
		cli_error("%s: %s", path, err == -EINVAL ? "is empty or not a regular file" : strerror(-err));
		return err;
	}
	if (image->size > 8 && !memcmp(image->data, "!<arch>\n", 8)) {
		cli_error("%s: is an archive; extract it with ar x and name its files", path);
		free((void *)image->data);
		return -EINVAL;
	}
	return 0;
}

/*
 * Keep only the kernels whose architecture is `cpu`, and return their number. This is needed for a single cubin, which
 * a worker inspects whatever its architecture is. The suffix a or f of `cpu` is ignored, because infos[].arch does not
 * contain it.
 */
static uint32_t filter_arch(struct gpubpf_kernel_info *infos, uint32_t n, const char *cpu)
{
	size_t number = strcspn(cpu, "af");
	uint32_t matching = 0;

	for (uint32_t i = 0; i < n; i++)
		if (strlen(infos[i].arch) == number && !memcmp(infos[i].arch, cpu, number))
			infos[matching++] = infos[i];
	return matching;
}

static int inspect(const struct cli_args *args, struct gpubpf_worker *worker, const char *path, struct json_object *files)
{
	const struct gpubpf_target_info *target = gpubpf_target_next_accepting(GPUBPF_IMAGE_FATBIN, NULL);
	struct gpubpf_device_caps caps = { .name = "any" };
	struct gpubpf_kernel_info *infos;
	const char *slash = strrchr(path, '/');
	struct gpubpf_image image;
	struct gpubpf_diag diag;
	bool closed, foreign;
	uint32_t n;
	int err = open_file(path, &image);

	if (err < 0)
		return err;
	gpubpf_diag_init(&diag);
	while (target && !target->machine)
		target = gpubpf_target_next_accepting(GPUBPF_IMAGE_FATBIN, target);
	assert(target);
	snprintf(caps.arch, sizeof(caps.arch), "%s", cli_str(args, OPT_CPU, ""));
	err = gpubpf_worker_inspect(worker, target->name, &image, &caps, &infos, &n, &diag);
	foreign = image.size < 4 || (memcmp(image.data,
					    "\x7f"
					    "ELF",
					    4) &&
				     memcmp(image.data, "\x50\xed\x55\xba", 4));
	free((void *)image.data);
	if (err < 0 && foreign && diag.code == GPUBPF_E_INJECT) {
		cli_error("%s: is not a program, library, cubin or fatbin with NVIDIA machine code; gpubpf kernel list -- "
			  "CMD lists kernels of all kinds",
			  path);
		return err;
	}
	if (err < 0) {
		gpubpf_diag_set(&diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "%s", strerror(-err));
		gpubpf_diag_where(&diag, "%s", path);
		cli_diag(&diag);
		return err;
	}
	if (caps.arch[0])
		n = filter_arch(infos, n, caps.arch);
	closed = gpubpf_target_is_closed(target, slash ? slash + 1 : path);
	if (files)
		write_json(path, infos, n, closed, files);
	else
		write_text(args, path, infos, n, closed);
	free(infos);
	return 0;
}

/* Returns true if the name is an NVIDIA architecture: sm_, a number, and optionally the suffix a or f. */
static bool is_cpu(const char *name)
{
	size_t digits = strncmp(name, "sm_", 3) ? 0 : strspn(name + 3, "0123456789");

	return digits && (!name[3 + digits] || !strcmp(name + 3 + digits, "a") || !strcmp(name + 3 + digits, "f"));
}

int gpubpf_cmd_kernel_inspect(const struct cli_args *args)
{
	struct json_object *files = cli_has(args, OPT_JSON) ? json_object_new_array() : NULL, *root;
	struct gpubpf_worker_opts opts = { 0 };
	struct gpubpf_worker *worker;
	int failed = 0;

	if (!args->nrest) {
		cli_error("kernel inspect: no file; name a program, library, cubin or fatbin");
		return CLI_USAGE;
	}
	if (cli_has(args, OPT_CPU) && !is_cpu(cli_str(args, OPT_CPU, ""))) {
		cli_error("--cpu %s: only NVIDIA architectures are supported, for example sm_90",
			  cli_str(args, OPT_CPU, ""));
		return CLI_USAGE;
	}
	if (gpubpf_worker_create(&opts, &worker) < 0)
		return CLI_FAILED;
	for (int i = 0; i < args->nrest; i++)
		failed |= inspect(args, worker, args->rest[i], files) < 0;
	gpubpf_worker_destroy(worker);
	if (files) {
		root = json_object_new_object();
		json_object_object_add(root, "files", files);
		printf("%s\n",
		       json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(root);
	}
	return failed ? CLI_FAILED : CLI_OK;
}
