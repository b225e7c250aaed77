/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and verifies a GPU program for each row of core/model/linux_helpers.def. The program calls the row's helper or
 * kernel function. The verdict and the advice must be equal to the row's. Arguments: HELPER-OBJECT KFUNC-OBJECT.
 */
#include <errno.h>
#include <stdint.h>

#include "core/load/load.h"
#include "core/model/diag.h"
#include "core/model/facts.h"
#include "../../tap.h"

#define TEMPLATE "bpf_gpubpf_template_of_the_name_of_a_function"
#define ROOM 65536

enum verdict { WORKS, USE, NOT };

static const struct row {
	uint32_t number;
	const char *name;
	enum verdict verdict;
	const char *text;
} rows[] = {
#define GPUBPF_LINUX_HELPER(number, name, verdict, text) { number, name, verdict, text },
#define GPUBPF_LINUX_KFUNC(name, verdict, text) { 0, name, verdict, text },
#include "core/model/linux_helpers.def"
};

static size_t read_file(const char *path, char *data)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(data, 1, ROOM, f) : 0;

	if (f)
		fclose(f);
	return n;
}

/* Replaces each copy of the bytes. Returns the number of copies. */
static int replace(char *data, size_t size, const void *old, const void *new, size_t n)
{
	int found = 0;

	for (size_t at = 0; at + n <= size; at++)
		if (!memcmp(data + at, old, n)) {
			memcpy(data + at, new, n);
			found++;
		}
	return found;
}

static bool insert_call(const struct row *row, char *data, size_t size)
{
	uint8_t old[8] = { 0x85, 0, 0, 0, 0x34, 0x12 }, new[8] = { 0x85, 0, 0, 0, (uint8_t)row->number };
	char name[sizeof(TEMPLATE)] = "";

	if (row->number)
		return replace(data, size, old, new, 8) == 1;
	snprintf(name, sizeof(name), "%s", row->name);
	return replace(data, size, TEMPLATE, name, sizeof(TEMPLATE)) >= 1;
}

/* Returns 0 if the program is accepted. */
static int verify(const char *data, size_t size, struct gpubpf_diag *diag)
{
	const char *path = "linux_helpers.bpf.o";
	struct gpubpf_load_image image = { data, size };
	struct gpubpf_load_opts opts = { .paths = &path, .npaths = 1, .images = &image };
	struct gpubpf_verify_opts how = { 0 };
	struct gpubpf_loaded *loaded;
	int err = gpubpf_load(&opts, &loaded, diag);

	if (err < 0)
		return err;
	err = gpubpf_verify(&loaded->unit, &loaded->unit.progs[0], &how, diag);
	gpubpf_loaded_destroy(loaded);
	return err;
}

/* The call passes only r1, so the verifier may refuse the arguments of a helper that works. */
static bool is_right(const struct row *row, int err, const struct gpubpf_diag *diag)
{
	bool missing = err < 0 && (diag->code == GPUBPF_E_BAD_HELPER || diag->code == GPUBPF_E_KFUNC);

	if (row->verdict == WORKS)
		return !missing || strstr(diag->what, "the programs that it may call are unknown"); /* helper 12 */
	return missing && strstr(diag->what, "does not exist") && strstr(diag->what, row->name + 4) &&
	       strstr(diag->remedy, row->text) &&
	       !strncmp(diag->remedy, row->verdict == USE ? "use " : "leave it out: ", row->verdict == USE ? 4 : 14);
}

int main(int argc, char **argv)
{
	static char data[ROOM];
	uint32_t last = 0;

	if (argc < 3)
		return 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		size_t size = read_file(argv[row->number ? 1 : 2], data);
		struct gpubpf_diag diag;
		int err;

		gpubpf_diag_init(&diag);
		if (!ok(size && insert_call(row, data, size), "%s: the object has the call", row->name))
			continue;
		err = verify(data, size, &diag);
		if (!ok(is_right(row, err, &diag), "%s: the verdict and the advice of its row", row->name))
			note("%d %s: %s; %s", err, gpubpf_error_name(diag.code), diag.what, diag.remedy);
		if (row->number)
			ok(row->number == last + 1 && (row->text[0] == '\0') == (row->verdict == WORKS),
			   "%s: the next number", row->name);
		last = row->number ? row->number : last;
	}
	return done();
}
