/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/files/open_file.h"
#include "symbols.h"

#define MAX_FILES 16384
#define MAX_MAPPINGS 65536
#define OFFSET_BITS 40             /* a `place` has the offset in the file in these low bits, and 1 + the file's index
				    * in code_files[] above; 0: no file */

struct gpubpf_code_file {
	char *path;
	struct stat stat; /* state of the file when the session saw it mapped */
	bool readable;    /* the file at the path is the mapped one */
	bool tried;       /* the session has tried to read the next three members */
	bool has_id;
	uint8_t build_id[GPUBPF_BUILD_ID];
	struct gpubpf_symbols *symbols;
};

/* Mapped code of a process: addresses [from, to), and the place of `from`. */
struct gpubpf_code_map {
	uint64_t from, to, place;
};

/* -- mapped files of a process -- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Is the file at this path the same as in the process's own file system? The process may be in a container. */
static bool stat_mapped_file(struct gpubpf_code_file *f, uint32_t pid)
{
	char process_path[4200];
	struct stat st;

	snprintf(process_path, sizeof(process_path), "/proc/%u/root%s", pid, f->path);
	return !stat(f->path, &f->stat) && S_ISREG(f->stat.st_mode) && !stat(process_path, &st) &&
	       same_file(&f->stat, &st);
}

/* Find or add the file in s->code_files. Returns 1 + its index; 0: there is no room. */
static uint32_t file_number(struct gpubpf_session *s, const char *path, uint32_t pid)
{
	struct gpubpf_code_file f = { .path = (char *)path }, *grown;

	f.readable = stat_mapped_file(&f, pid);
	for (uint32_t i = 0; i < s->ncode_files; i++)
		if (!strcmp(s->code_files[i].path, path) && s->code_files[i].readable == f.readable &&
		    same_file(&s->code_files[i].stat, &f.stat))
			return i + 1;
	grown = s->ncode_files < MAX_FILES ? reallocarray(s->code_files, s->ncode_files + 1, sizeof(f)) : NULL;
	if (!grown)
		return 0;
	s->code_files = grown;
	f.path = strdup(path);
	if (!f.path)
		return 0;
	s->code_files[s->ncode_files++] = f;
	return s->ncode_files;
}

static int add_mapping(struct gpubpf_session *s, struct gpubpf_peer *peer, const char *line)
{
	uint64_t from, to, offset;
	struct gpubpf_code_map *grown;
	uint32_t file = 0;
	char perms[8];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &from, &to, perms, &offset, &at) < 4 ||
	    !at || !strchr(perms, 'x'))
		return 0;
	if (peer->ncode == MAX_MAPPINGS)
		return -E2BIG;
	grown = reallocarray(peer->code, peer->ncode + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	peer->code = grown;
	if (line[at] == '/' && offset >> OFFSET_BITS == 0)
		file = file_number(s, line + at, peer->pid);
	peer->code[peer->ncode++] = (struct gpubpf_code_map){ from, to, file ? (uint64_t)file << OFFSET_BITS | offset : 0 };
	return 0;
}

static void read_mappings(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *f;

	peer->ncode = 0;
	snprintf(path, sizeof(path), "/proc/%u/maps", peer->pid);
	f = fopen(path, "re");
	while (f && (n = getline(&line, &room, f)) > 0) {
		line[n - (line[n - 1] == '\n')] = 0;
		if (add_mapping(s, peer, line) < 0)
			break;
	}
	free(line);
	if (f)
		fclose(f);
}

static bool find_place(const struct gpubpf_peer *peer, uint64_t address, uint64_t *place)
{
	uint32_t from = 0, to = peer->ncode;

	while (from < to) {
		uint32_t half = from + (to - from) / 2;
		const struct gpubpf_code_map *m = &peer->code[half];

		if (address < m->from) {
			to = half;
		} else if (address >= m->to) {
			from = half + 1;
		} else {
			*place = m->place ? m->place + (address - m->from) : 0;
			return true;
		}
	}
	*place = 0;
	return false;
}

/* -- requests of agents -- */

static uint32_t get_stack_number(struct gpubpf_session *s, struct gpubpf_peer *peer, const uint64_t *address, uint32_t n)
{
	uint64_t place[GPUBPF_STACK_DEPTH];
	bool all = true;

	for (uint32_t i = 0; i < n; i++)
		all &= find_place(peer, address[i], &place[i]);
	if (!all) {
		read_mappings(s, peer);
		for (uint32_t i = 0; i < n; i++)
			find_place(peer, address[i], &place[i]);
	}
	return gpubpf_stacks_intern(s->stacks, address, place, n);
}

int gpubpf_stacks_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	uint64_t address[GPUBPF_STACK_DEPTH], code_generation = gpubpf_get_u64(r);
	uint32_t n = gpubpf_get_count(r, 8), number;
	struct gpubpf_writer w = { 0 };

	if (!n || n > GPUBPF_STACK_DEPTH)
		return -EPROTO;
	for (uint32_t i = 0; i < n; i++)
		address[i] = gpubpf_get_u64(r);
	if (r->failed)
		return -EPROTO;
	if (peer->code_generation != code_generation)
		peer->ncode = 0;
	peer->code_generation = code_generation;
	number = get_stack_number(s, peer, address, n);
	if (!number)
		gpubpf_session_note(s,
				    "kernels are launched from more than %d different stacks, or there is no "
				    "memory for them; programs get -EFAULT for further stacks",
				    GPUBPF_MAX_STACKS);
	gpubpf_put_u32(&w, number);
	return gpubpf_peer_send(peer, GPUBPF_MSG_STACK_DONE, seq, &w, NULL, 0);
}

void gpubpf_stacks_forget_peer(struct gpubpf_peer *peer)
{
	free(peer->code);
}

void gpubpf_stacks_free(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->ncode_files; i++) {
		free(s->code_files[i].path);
		gpubpf_symbols_free(s->code_files[i].symbols);
	}
	free(s->code_files);
	gpubpf_stacks_destroy(s->stacks);
}

/* -- names -- */

struct frame {
	const struct gpubpf_code_file *file; /* NULL: not known */
	uint64_t offset;                     /* in the file */
	const char *symbol;                  /* NULL: not known */
	uint64_t from;                       /* distance from the symbol */
};

static void read_symbols(struct gpubpf_code_file *f)
{
	int fd = f->readable && !f->tried ? gpubpf_open_regular(AT_FDCWD, f->path, 0) : -1;
	struct stat st;

	f->tried = true;
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && same_file(&st, &f->stat)) { /* the file may have been replaced since */
		f->symbols = gpubpf_symbols_read(fd);
		f->has_id = gpubpf_build_id_read(fd, f->build_id);
	}
	close(fd);
}

static bool fill_build_id(void *arg, const struct gpubpf_stack *stack, uint32_t i, struct gpubpf_stack_frame *frame)
{
	struct gpubpf_session *s = arg;
	uint64_t file = stack->place[i] >> OFFSET_BITS;
	struct gpubpf_code_file *of = file && file <= s->ncode_files ? &s->code_files[file - 1] : NULL;

	if (of && !of->tried)
		read_symbols(of);
	if (!of || !of->has_id)
		return false;
	memcpy(frame->build_id, of->build_id, sizeof(frame->build_id));
	frame->offset = stack->place[i] & ((1ull << OFFSET_BITS) - 1);
	return true;
}

int gpubpf_stacks_open(struct gpubpf_session *s)
{
	s->stacks = gpubpf_stacks_create();
	if (s->stacks)
		gpubpf_stacks_files(s->stacks, fill_build_id, s);
	return s->stacks ? 0 : -ENOMEM;
}

/* Resolve frame i. Its address is a return address, so the symbol is the function that contains the byte before it. */
static struct frame resolve(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i)
{
	uint64_t file = stack->place[i] >> OFFSET_BITS;
	struct frame f = { .offset = stack->place[i] & ((1ull << OFFSET_BITS) - 1) };
	struct gpubpf_code_file *of = file && file <= s->ncode_files ? &s->code_files[file - 1] : NULL;

	if (!of)
		return f;
	f.file = of;
	if (!of->tried)
		read_symbols(of);
	f.symbol = of->symbols ? gpubpf_symbols_find(of->symbols, f.offset - 1, &f.from) : NULL;
	f.from++;
	return f;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The C++ ABI's demangler. Names come from files that the session does not trust; it shows a name that the demangler
 * rejects as it is. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size, int *status);

/* Returns the demangled name if requested, else a copy of the symbol; the caller frees it. */
static char *display_name(const char *symbol, bool demangle)
{
	int status;
	char *demangled = demangle && !strncmp(symbol, "_Z", 2) && strlen(symbol) < 4096 ?
				  __cxa_demangle(symbol, NULL, NULL, &status) :
				  NULL;
	char *text = demangled ? demangled : strdup(symbol);

	for (char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return text;
}

void gpubpf_stack_frame(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i, bool demangle,
			char *buf, size_t size)
{
	struct frame f = resolve(s, stack, i);
	char *name = f.symbol ? display_name(f.symbol, demangle) : NULL;

	if (name)
		snprintf(buf, size, "%s+0x%" PRIx64 " (%s)", name, f.from, base_name(f.file->path));
	else if (f.file)
		snprintf(buf, size, "%s+0x%" PRIx64, base_name(f.file->path), f.offset);
	else
		snprintf(buf, size, "0x%" PRIx64, stack->address[i]);
	free(name);
}

static struct json_object *frame_json(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i)
{
	struct json_object *o = json_object_new_object();
	struct frame f = resolve(s, stack, i);
	char *name = f.symbol ? display_name(f.symbol, true) : NULL, address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, stack->address[i]);
	json_object_object_add(o, "address", json_object_new_string(address));
	if (name) {
		json_object_object_add(o, "symbol", json_object_new_string(name));
		json_object_object_add(o, "offset", json_object_new_int64((int64_t)f.from));
	}
	if (f.file) {
		json_object_object_add(o, "module", json_object_new_string(f.file->path));
		json_object_object_add(o, "module_offset", json_object_new_int64((int64_t)f.offset));
	}
	free(name);
	return o;
}

struct json_object *gpubpf_stack_json(struct gpubpf_session *s, const struct gpubpf_stack *stack)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; stack && i < stack->n; i++)
		json_object_array_add(list, frame_json(s, stack, i));
	return list;
}

void gpubpf_stack_line(struct gpubpf_session *s, const struct gpubpf_stack *stack, bool demangle, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < stack->n && at + 1 < size; i++) {
		struct frame f = resolve(s, stack, i);
		char *name = f.symbol ? display_name(f.symbol, demangle) : NULL;

		if (name)
			snprintf(buf + at, size - at, "%s%s", i ? " < " : "", name);
		else
			snprintf(buf + at, size - at, "%s%s", i ? " < " : "", f.file ? base_name(f.file->path) : "?");
		at += strlen(buf + at);
		free(name);
	}
}

const struct gpubpf_stack *gpubpf_stack_by_key(const struct gpubpf_map *map, const void *key)
{
	struct gpubpf_session *s = map->session;
	uint64_t number = 0;
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	for (uint32_t i = s->narenas; !number && i-- > 0;) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));

		number = gpubpf_stack_number_at(&view, id);
	}
	return gpubpf_stacks_find(s->stacks, number);
}

const struct gpubpf_stack *gpubpf_stack_by_id(const struct gpubpf_session *s, uint64_t id)
{
	const struct gpubpf_unit *unit = &s->loaded->unit;
	const struct gpubpf_map *map = NULL;
	uint32_t key = (uint32_t)id, n = 0;

	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (unit->maps[i].type->flags & GPUBPF_MAP_STACKS && !unit->maps[i].prototype) {
			map = &unit->maps[i];
			n++;
		}
	return n == 1 && id <= UINT32_MAX ? gpubpf_stack_by_key(map, &key) : NULL;
}
