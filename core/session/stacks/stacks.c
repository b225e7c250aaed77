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
#include "core/session/private.h"

#define MAX_FILES 16384
#define MAX_MAPPINGS 65536
#define OFFSET_BITS 40             /*
 * A `place` is a 64-bit number that stands for a byte in a file. The low OFFSET_BITS bits are the byte's offset. The
 * bits above are 1 + the file's index in files[]; 0: no file.
 */

struct gpubpf_code_file {
	char *path;
	struct stat stat; /* result of stat(2) when the session saw the file mapped */
	bool readable;    /* the path leads to the mapped file, not to another file of that name */
	bool tried;       /* the session has tried to read has_id, build_id and symbols */
	bool has_id;
	uint8_t build_id[GPUBPF_BUILD_ID];
	struct gpubpf_symbols *symbols;
};

/* A mapping of code in a process: its addresses [from, to), and the place (see OFFSET_BITS) of `from`. */
struct gpubpf_code_map {
	uint64_t from, to, place;
};

/* The mappings of code in a peer's process. */
struct gpubpf_peer_code {
	struct gpubpf_code_map *map; /* [n], sorted */
	uint32_t n;
	/* number that the agent increases when code is loaded (GPUBPF_MSG_STACK); map[] was read at this number */
	uint64_t generation;
};

struct session_stacks {
	struct gpubpf_stacks *table;    /* host stacks of kernel launches */
	struct gpubpf_code_file *files; /* [nfiles]: files with code of these stacks */
	uint32_t nfiles;
	char text[1024]; /* buffer for the result of gpubpf_stack_text() */
};

/* -- mapped files of a process -- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Returns true if the path leads to the same file for the session and for the process, which may be in a container. */
static bool stat_mapped_file(struct gpubpf_code_file *f, uint32_t pid)
{
	char process_path[4200];
	struct stat st;

	snprintf(process_path, sizeof(process_path), "/proc/%u/root%s", pid, f->path);
	return !stat(f->path, &f->stat) && S_ISREG(f->stat.st_mode) && !stat(process_path, &st) &&
	       same_file(&f->stat, &st);
}

/* Find or add the file in s->stacks->files. Returns 1 + its index, or 0 if the table is full or memory is short. */
static uint32_t file_number(struct gpubpf_session *s, const char *path, uint32_t pid)
{
	struct gpubpf_code_file f = { .path = (char *)path }, *grown;

	f.readable = stat_mapped_file(&f, pid);
	for (uint32_t i = 0; i < s->stacks->nfiles; i++)
		if (!strcmp(s->stacks->files[i].path, path) && s->stacks->files[i].readable == f.readable &&
		    same_file(&s->stacks->files[i].stat, &f.stat))
			return i + 1;
	grown = s->stacks->nfiles < MAX_FILES ? reallocarray(s->stacks->files, s->stacks->nfiles + 1, sizeof(f)) : NULL;
	if (!grown)
		return 0;
	s->stacks->files = grown;
	f.path = strdup(path);
	if (!f.path)
		return 0;
	s->stacks->files[s->stacks->nfiles++] = f;
	return s->stacks->nfiles;
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
	if (peer->code->n == MAX_MAPPINGS)
		return -E2BIG;
	grown = reallocarray(peer->code->map, peer->code->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	peer->code->map = grown;
	if (line[at] == '/' && offset >> OFFSET_BITS == 0)
		file = file_number(s, line + at, peer->pid);
	peer->code->map[peer->code->n++] = (struct gpubpf_code_map){ from, to,
								     file ? (uint64_t)file << OFFSET_BITS | offset : 0 };
	return 0;
}

static void read_mappings(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *f;

	peer->code->n = 0;
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
	uint32_t from = 0, to = peer->code->n;

	while (from < to) {
		uint32_t half = from + (to - from) / 2;
		const struct gpubpf_code_map *m = &peer->code->map[half];

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
	return gpubpf_stacks_intern(s->stacks->table, address, place, n);
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
	if (!peer->code && !(peer->code = calloc(1, sizeof(*peer->code))))
		return -ENOMEM;
	if (peer->code->generation != code_generation)
		peer->code->n = 0;
	peer->code->generation = code_generation;
	number = get_stack_number(s, peer, address, n);
	if (!number)
		gpubpf_session_note(s,
				    "the application launches kernels from more than %d different stacks, or memory "
				    "is short; programs get -EFAULT for further stacks",
				    GPUBPF_MAX_STACKS);
	gpubpf_put_u32(&w, number);
	return gpubpf_peer_send(peer, GPUBPF_MSG_STACK_DONE, seq, &w, NULL, 0);
}

void gpubpf_stacks_forget_peer(struct gpubpf_peer *peer)
{
	if (peer->code)
		free(peer->code->map);
	free(peer->code);
}

void gpubpf_session_stacks_destroy(struct gpubpf_session *s)
{
	if (!s->stacks)
		return;
	for (uint32_t i = 0; i < s->stacks->nfiles; i++) {
		free(s->stacks->files[i].path);
		gpubpf_symbols_free(s->stacks->files[i].symbols);
	}
	free(s->stacks->files);
	gpubpf_stacks_destroy(s->stacks->table);
	free(s->stacks);
	s->stacks = NULL;
}

/* -- names -- */

struct frame {
	const struct gpubpf_code_file *file; /* NULL: not known */
	uint64_t offset;                     /* in the file */
	const char *symbol;                  /* NULL: not known */
	uint64_t from;                       /* bytes from the start of the symbol */
};

static void read_symbols(struct gpubpf_code_file *f)
{
	int fd = f->readable && !f->tried ? gpubpf_open_regular(AT_FDCWD, f->path, 0) : -1;
	struct stat st;

	f->tried = true;
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && same_file(&st, &f->stat)) { /* the file must not have been replaced */
		f->symbols = gpubpf_symbols_read(fd);
		f->has_id = gpubpf_build_id_read(fd, f->build_id);
	}
	close(fd);
}

static bool fill_build_id(void *arg, const struct gpubpf_stack *stack, uint32_t i, struct gpubpf_stack_frame *frame)
{
	struct gpubpf_session *s = arg;
	uint64_t file = stack->place[i] >> OFFSET_BITS;
	struct gpubpf_code_file *of = file && file <= s->stacks->nfiles ? &s->stacks->files[file - 1] : NULL;

	if (of && !of->tried)
		read_symbols(of);
	if (!of || !of->has_id)
		return false;
	memcpy(frame->build_id, of->build_id, sizeof(frame->build_id));
	frame->offset = stack->place[i] & ((1ull << OFFSET_BITS) - 1);
	return true;
}

int gpubpf_session_stacks_create(struct gpubpf_session *s)
{
	s->stacks = calloc(1, sizeof(*s->stacks));
	if (!s->stacks)
		return -ENOMEM;
	s->stacks->table = gpubpf_stacks_create();
	if (!s->stacks->table)
		return -ENOMEM;
	gpubpf_stacks_files(s->stacks->table, fill_build_id, s);
	return 0;
}

struct gpubpf_stacks *gpubpf_session_stack_table(const struct gpubpf_session *s)
{
	return s->stacks->table;
}

/*
 * Resolve frame i to a symbol. The frame's address is a return address, so the symbol is the function that contains the
 * byte before it.
 */
static struct frame resolve(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i)
{
	uint64_t file = stack->place[i] >> OFFSET_BITS;
	struct frame f = { .offset = stack->place[i] & ((1ull << OFFSET_BITS) - 1) };
	struct gpubpf_code_file *of = file && file <= s->stacks->nfiles ? &s->stacks->files[file - 1] : NULL;

	if (!of)
		return f;
	f.file = of;
	if (!of->tried)
		read_symbols(of);
	f.symbol = of->symbols ? gpubpf_symbols_find(of->symbols, f.offset - 1, &f.from) : NULL;
	f.from++;
	return f;
}

static const char *get_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * The demangler of the C++ ABI. Names come from files that the session does not trust. If the demangler rejects a name,
 * the session shows the mangled name.
 */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size, int *status);

/* Returns the demangled name if `demangle` is set, else a copy of the symbol. The caller frees it. */
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
		snprintf(buf, size, "%s+0x%" PRIx64 " (%s)", name, f.from, get_base_name(f.file->path));
	else if (f.file)
		snprintf(buf, size, "%s+0x%" PRIx64, get_base_name(f.file->path), f.offset);
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
			snprintf(buf + at, size - at, "%s%s", i ? " < " : "", f.file ? get_base_name(f.file->path) : "?");
		at += strlen(buf + at);
		free(name);
	}
}

const char *gpubpf_stack_text(struct gpubpf_session *s, const struct gpubpf_stack *stack)
{
	gpubpf_stack_line(s, stack, true, s->stacks->text, sizeof(s->stacks->text));
	return s->stacks->text;
}
