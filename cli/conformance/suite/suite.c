/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the cases of the suite from its objects; each object is a group. Section case_N contains a program, and section
 * expect_N its expected result.
 */
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"
#include "core/wire/files/open_file.h"

/* folders of the suite relative to the tool's folder, first in a build tree, then installed */
static const char *const folders[] = { "tests/cli/conformance", "../share/gpubpf/conformance", NULL };

static int find_folder(char *path, size_t size)
{
	char exe[PATH_MAX], tried[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return -errno;
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (const char *const *p = folders; *p; p++) {
		snprintf(tried, sizeof(tried), "%s/%s", exe, *p);
		if (!access(tried, R_OK) && snprintf(path, size, "%s", tried) < (int)size)
			return 0;
	}
	snprintf(path, size, "%s", GPUBPF_DATADIR "/conformance");
	return access(path, R_OK) < 0 ? -errno : 0;
}

static int read_file(const char *path, struct suite_object *o)
{
	struct stat st;
	FILE *f = gpubpf_fopen_regular(path);
	int err = 0;

	if (!f)
		return -errno;
	if (fstat(fileno(f), &st) < 0 || !(o->bytes = malloc(st.st_size + 1)))
		err = -errno;
	else if (fread(o->bytes, 1, st.st_size, f) != (size_t)st.st_size)
		err = -EIO;
	o->size = st.st_size;
	fclose(f);
	return err;
}

static void hash(struct suite_object *o)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, o->size, o->bytes);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(o->sha256 + 2 * i, 3, "%02x", digest[i]);
}

int suite_add_object(struct suite *s, const char *path, const char *name)
{
	struct suite_object *grown = realloc(s->objects, (s->nobjects + 1) * sizeof(*grown)), *o;
	int err;

	if (!grown)
		return -ENOMEM;
	s->objects = grown;
	o = &grown[s->nobjects++];
	memset(o, 0, sizeof(*o));
	snprintf(o->path, sizeof(o->path), "%s", path);
	snprintf(o->name, sizeof(o->name), "%s", name);
	err = read_file(path, o);
	if (!err)
		hash(o);
	return err;
}

int suite_add_case(struct suite *s, const char *group, const char *name, const char *glob, struct suite_case **c)
{
	struct suite_case *grown;
	char whole[200];

	*c = NULL;
	snprintf(whole, sizeof(whole), "%s/%s", group, name);
	if (glob && fnmatch(glob, whole, FNM_EXTMATCH))
		return 0;
	grown = realloc(s->cases, (s->ncases + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->cases = grown;
	grown[s->ncases] = (struct suite_case){ .group = strdup(group), .name = strdup(name), .object = s->nobjects - 1 };
	*c = &grown[s->ncases++];
	return (*c)->group && (*c)->name ? 0 : -ENOMEM;
}

static char *to_hex(const uint8_t *bytes, size_t size)
{
	char *text = malloc(2 * size + 1);

	for (size_t i = 0; text && i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

/* If the line begins with `word`, return the text after it; otherwise NULL. */
static const char *value_of(const char *line, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(line, word, n) && line[n] == ' ' ? line + n + 1 : NULL;
}

static void parse_expectation(struct suite_case *c, const char *line)
{
	const char *value;

	if ((value = value_of(line, "mem")))
		c->mem = strdup(value);
	else if ((value = value_of(line, "result")))
		c->result = strdup(value);
	else if ((value = value_of(line, "error")))
		c->error = strdup(value);
	else if ((value = value_of(line, "refused")))
		c->refused = strdup(value);
}

struct sections {
	Elf_Data *program, *expect;
};

/* Add a case from its two sections. Returns 0, -ENOMEM, or -EBADMSG if the sections are invalid. */
static int add_sections(struct suite *s, const char *group, const struct sections *both, const char *glob)
{
	struct suite_case *c = NULL;
	char *text, *save, *line;
	int err;

	if (!both->program || !both->expect)
		return -EBADMSG;
	text = strndup(both->expect->d_buf, both->expect->d_size);
	line = text ? strtok_r(text, "\n", &save) : NULL;
	err = !text                            ? -ENOMEM :
	      !line || !value_of(line, "name") ? -EBADMSG :
						 suite_add_case(s, group, value_of(line, "name"), glob, &c);
	while (!err && c && (line = strtok_r(NULL, "\n", &save)))
		parse_expectation(c, line);
	if (!err && c && !(c->program = to_hex(both->program->d_buf, both->program->d_size)))
		err = -ENOMEM;
	free(text);
	return err;
}

#define MAX_CASES 4096

/* the sections of an object: two per case in all[], or `expect` if the whole object is one case */
struct suite_sections {
	struct sections all[MAX_CASES];
	Elf_Data *expect;
};

static void parse_section(Elf *elf, size_t names, Elf_Scn *section, struct suite_sections *f)
{
	GElf_Shdr header;
	const char *name;
	unsigned int i;

	if (!gelf_getshdr(section, &header) || !(name = elf_strptr(elf, names, header.sh_name)))
		return;
	if (sscanf(name, "case_%u", &i) == 1 && i < MAX_CASES)
		f->all[i].program = elf_getdata(section, NULL);
	else if (sscanf(name, "expect_%u", &i) == 1 && i < MAX_CASES)
		f->all[i].expect = elf_getdata(section, NULL);
	else if (!strcmp(name, ".expect"))
		f->expect = elf_getdata(section, NULL);
}

/* Add the last object of the suite, whose name is GROUP.NAME.bpf.o, as one case. */
static int add_object_case(struct suite *s, const char *group, const Elf_Data *expect, const char *glob)
{
	const char *at = s->objects[s->nobjects - 1].name + strlen(group) + 1;
	struct suite_case *c;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "."), at);
	err = suite_add_case(s, group, name, glob, &c);
	if (c && !(c->expect = strndup(expect->d_buf, expect->d_size)))
		err = -ENOMEM;
	return err;
}

/* Add all cases of the suite's last object. */
static int read_cases(struct suite *s, const char *group, const char *glob)
{
	struct suite_object *o = &s->objects[s->nobjects - 1];
	struct suite_sections *f = calloc(1, sizeof(*f));
	Elf_Scn *section = NULL;
	size_t names;
	Elf *elf;
	int err = 0;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)o->bytes, o->size);
	if (!f || !elf || elf_getshdrstrndx(elf, &names) < 0)
		err = f ? -EBADMSG : -ENOMEM;
	while (!err && (section = elf_nextscn(elf, section)))
		parse_section(elf, names, section, f);
	if (!err && f->expect)
		err = add_object_case(s, group, f->expect, glob);
	for (uint32_t i = 0; !err && i < MAX_CASES && (f->all[i].program || f->all[i].expect); i++)
		err = add_sections(s, group, &f->all[i], glob);
	elf_end(elf);
	free(f);
	return err;
}

static int is_object(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 2 && !strcmp(d->d_name + n - 2, ".o");
}

static int read_object(struct suite *s, const char *folder, const char *name, const char *glob)
{
	char path[2 * PATH_MAX], group[64];
	int err;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(group, sizeof(group), "%.*s", (int)strcspn(name, "."), name);
	err = suite_add_object(s, path, name);
	return err ? err : read_cases(s, group, glob);
}

static int by_group(const void *a, const void *b)
{
	const struct suite_case *x = a, *y = b;
	int order = strcmp(x->group, y->group);

	return order ? order : strcmp(x->name, y->name);
}

void suite_sort(struct suite *s)
{
	qsort(s->cases, s->ncases, sizeof(*s->cases), by_group);
}

int suite_find(struct suite *s, char *why, size_t size)
{
	int err = find_folder(s->folder, sizeof(s->folder));

	if (err < 0)
		snprintf(why, size,
			 "%s: %s; the conformance suite is part of gpubpf's package, so install the package "
			 "again",
			 s->folder, strerror(-err));
	return err;
}

int suite_read(struct suite *s, const char *glob, char *why, size_t size)
{
	char *folder = s->folder;
	struct dirent **names;
	int n, err = suite_find(s, why, size);

	if (err < 0)
		return err;
	n = scandir(folder, &names, is_object, alphasort);
	for (int i = 0; i < n; i++) {
		if (!err && (err = read_object(s, folder, names[i]->d_name, glob)) < 0)
			snprintf(why, size, "%s/%s: %s; install the package again", folder, names[i]->d_name,
				 err == -EBADMSG ? "not an object of the conformance suite" : strerror(-err));
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	suite_sort(s);
	return err;
}

uint32_t suite_object(const struct suite *s, uint32_t i)
{
	for (; i < s->nobjects; i++)
		for (uint32_t c = 0; c < s->ncases; c++)
			if (s->cases[c].object == i)
				return i;
	return i;
}

void suite_finish(struct suite *s)
{
	for (uint32_t i = 0; i < s->ncases; i++) {
		struct suite_case *c = &s->cases[i];

		free(c->group);
		free(c->name);
		free(c->program);
		free(c->mem);
		free(c->result);
		free(c->error);
		free(c->refused);
		free(c->expect);
	}
	for (uint32_t i = 0; i < s->nobjects; i++)
		free(s->objects[i].bytes);
	free(s->cases);
	free(s->objects);
}

const char *suite_group(const struct suite *s, uint32_t i)
{
	for (uint32_t c = 0; c < s->ncases; c++)
		if ((!c || strcmp(s->cases[c].group, s->cases[c - 1].group)) && i-- == 0)
			return s->cases[c].group;
	return NULL;
}
