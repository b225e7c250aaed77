/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts EVERY FILE ARCH OBJECT...: tests twins with block_end programs, which count the exiting lanes of a block.
 * EVERY (sass-every) makes twins of FILE's kernels with each OBJECT's programs. FILE is a cubin, or a .cu with
 * functions in sections. The checker must accept the twins. It must refuse changes of the counting code: of its word,
 * its barrier, the choice of the last lane, and the branches that lead to it. It must refuse changed declarations of
 * the twin, too.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "backends/cuda/sass/rewrite/count.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

/* -- emulation of the counting code -- */

#define REGS 8
#define WARP 32

struct lane {
	uint32_t r[REGS], index; /* index: number of the lane in its warp */
	bool p[SASS_PT], ended;
};

struct block {
	const struct sass_arch *arch;
	/* size: value of the special register for the size of shared memory */
	uint32_t size, reserved, rank, extents[3];
	/* address and value of the only word that is stored; 0: no store yet */
	uint32_t at, word;
	uint32_t met;                              /* lanes that arrived at the barrier */
	bool broken;                               /* an operation occurred that the emulator does not expect */
};

static uint32_t reg(const struct lane *l, unsigned r)
{
	return r == SASS_RZ ? 0 : l->r[r % REGS];
}

static uint32_t special(const struct block *b, const struct lane *l, unsigned what)
{
	return what == 0x32 ? b->size : what == 0x39 ? (1u << l->index) - 1 : what == 0x88 ? b->rank : 0xdead;
}

static uint32_t launch_word(const struct block *b, uint32_t off)
{
	uint32_t extents = b->arch->sm >= 100 ? 0x360 : 0, reserved = b->arch->sm >= 100 ? 0x16c : 0x114;

	return off >= extents && off < extents + 12 ? b->extents[(off - extents) / 4] : off == reserved ? b->reserved : 0xdead;
}

/* Returns the value of a predicate operand. Bit 3 of its number negates the predicate. */
static bool holds(const struct lane *l, unsigned predicate)
{
	return ((predicate & 7) == SASS_PT || l->p[predicate & 7]) != (predicate >> 3);
}

/* LOP3: looks up the result of each triple of bits in the truth table */
static uint32_t look_up_bits(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
	uint32_t result = 0;

	for (unsigned i = 0; i < 32; i++)
		result |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
	return result;
}

/* unsigned ISETP that writes one predicate and combines it with no other */
static void compare(struct block *b, struct lane *l, struct sass_insn i, uint32_t x, uint32_t y)
{
	unsigned how = sass_field(i, 76, 3), to = sass_field(i, 81, 3);

	b->broken |= (how != 2 && how != 5) || to == SASS_PT || sass_field(i, 84, 3) != SASS_PT || sass_field(i, 87, 4) != SASS_PT;
	if (to != SASS_PT)
		l->p[to] = (x == y) == (how == 2);
}

static void carry_out(struct block *b, struct lane *l, uint32_t active, struct sass_insn i)
{
	uint32_t x = reg(l, sass_field(i, 24, 8)), y = reg(l, sass_field(i, 32, 8)), z = reg(l, sass_field(i, 64, 8));
	uint32_t imm = sass_field(i, 32, 32), address = x + (uint32_t)((int32_t)(sass_field(i, 40, 24) << 8) >> 8), result = 0;

	switch (sass_opcode(i)) {
	case 0x919: result = special(b, l, sass_field(i, 72, 8)); break;
	case 0xb82: result = sass_field(i, 54, 5) ? 0xdead : launch_word(b, sass_field(i, 38, 16)); break;
	case 0x806: /* VOTE.ANY over all active lanes */
		b->broken |= sass_field(i, 72, 8) != 1 || sass_field(i, 87, 4) != SASS_PT;
		result = active;
		break;
	case 0x309: result = __builtin_popcount(y); break;
	case 0x210: result = (sass_field(i, 72, 1) ? -x : x) + (sass_field(i, 63, 1) ? -y : y) + (sass_field(i, 75, 1) ? -z : z); break;
	case 0x224: result = x * y + z; break;
	case 0x824: result = x * imm + z; break;
	case 0x212: result = look_up_bits(x, y, z, sass_field(i, 72, 8)); break;
	case 0x80c: compare(b, l, i, x, imm); return;
	case 0x20c: compare(b, l, i, x, y); return;
	case 0x94d: l->ended = true; return;
	case 0xb1d: /* BAR.SYNC 0 */
		b->broken |= sass_field(i, 54, 4) || sass_field(i, 77, 2);
		b->met++;
		return;
	case 0x388: /* STS.32 */
		b->broken |= (b->at && b->at != address) || sass_field(i, 73, 3) != 4;
		b->at = address;
		b->word = y;
		return;
	case 0x38c: /* ATOMS.ADD.32 */
		b->broken |= b->at != address || sass_field(i, 73, 3) || sass_field(i, 87, 4);
		result = b->word;
		b->word += y;
		break;
	default: b->broken = true; return;
	}
	l->r[sass_field(i, 16, 8) % REGS] = result;
}

/* Runs all lanes of the set in lockstep, like a converged warp. */
static void run_warp(struct block *b, struct lane lanes[WARP], uint32_t active, bool end)
{
	struct sass_insn insns[SASS_COUNT_MAX_INSNS];
	uint32_t n = (end ? sass_count_end : sass_count_begin)(b->arch, 0, insns);

	for (uint32_t k = 0; k < n; k++) {
		uint32_t there = 0;

		for (uint32_t i = 0; i < WARP; i++)
			there |= (active >> i & 1 && !lanes[i].ended && holds(&lanes[i], sass_field(insns[k], 12, 4))) ? 1u << i : 0;
		for (uint32_t i = 0; i < WARP; i++)
			if (there >> i & 1)
				carry_out(b, &lanes[i], there, insns[k]);
	}
}

/* Lets lanes exit in groups of any size. Only one lane of the last group may continue to the program. */
static void count_block(const struct sass_arch *arch, uint32_t x, uint32_t y, uint32_t z)
{
	uint32_t reserved = arch->sm == 75 ? 0 : 1024, used = 16 + random_below(4000), n = x * y * z, left = n, on = 0, early = 0;
	struct block b = { arch, (used + 127) / 128 * 128 + reserved, reserved, arch->sm >= 90 ? random_below(8) : 0, { x, y, z }, 0, 0, 0, false };
	uint32_t end = (arch->sm >= 90 ? 0x400 : 0) + b.size - reserved;
	struct lane lanes[WARP * WARP] = { 0 };
	bool gone[WARP * WARP] = { false };

	for (uint32_t i = 0; i < n; i++)
		lanes[i].index = i % WARP;
	for (uint32_t w = 0; w * WARP < n; w++)
		run_warp(&b, lanes + w * WARP, n - w * WARP >= WARP ? UINT32_MAX : (1u << (n - w * WARP)) - 1, false);
	ok(!b.broken && b.at == (b.rank << 24) + end - 16 && b.word == n && b.met == n,
	   "sm_%u: %u lanes of %u x %u x %u begin with the word behind the block's memory", arch->sm, n, x, y, z);
	while (left) {
		uint32_t w = random_below((n + WARP - 1) / WARP), group = random_below(1 << 16) << 16 | random_below(1 << 16), active = 0;

		for (uint32_t i = 0; i < WARP && w * WARP + i < n; i++)
			active |= group >> i & 1 && !gone[w * WARP + i] ? 1u << i : 0;
		left -= __builtin_popcount(active);
		run_warp(&b, lanes + w * WARP, active, true);
		for (uint32_t i = 0; i < WARP; i++)
			if (active >> i & 1) {
				gone[w * WARP + i] = true;
				on += !lanes[w * WARP + i].ended;
				early += !lanes[w * WARP + i].ended && left;
			}
	}
	ok(!b.broken && on == 1 && !early, "one of the last that leave goes on");
}

static void count_blocks(uint32_t sm)
{
	static const uint32_t extents[][3] = { { 1, 1, 1 }, { 33, 1, 1 }, { 12, 8, 1 }, { 4, 5, 7 }, { 1024, 1, 1 } };

	for (size_t i = 0; i < sizeof(extents) / sizeof(*extents); i++)
		count_block(sass_arch_find(sm), extents[i][0], extents[i][1], extents[i][2]);
}

/* -- faults -- */

struct twin {
	struct sass_cubin app, made;
	const struct sass_kernel *kernel;
	struct sass_code code;
	uint8_t *bytes, *text;
	size_t size;
	uint32_t n, first;         /* number of instructions; index of the first added instruction */
};

/* "": the checker accepts */
static const char *check_twin(const struct twin *t, bool counts)
{
	const struct sass_twin_contents has = { .entry = true, .exit = true, .counts = counts };
	const struct sass_twin twin = { .cubin = { t->bytes, t->size } };
	const struct sass_insn_probes none = { 0 };
	static struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return sass_check(&t->app, t->kernel, &t->code, &twin, &has, &none, &diag) ? diag.what : "";
}

static bool passes(const struct twin *t, bool counts)
{
	return !*check_twin(t, counts);
}

static bool refused(const struct twin *t, bool counts, const char *why)
{
	const char *what = check_twin(t, counts);
	bool is = strstr(what, why);

	if (!is)
		note("%s, not: %s", *what ? what : "it passes", why);
	return is;
}

static struct sass_insn get(const struct twin *t, uint32_t i)
{
	return sass_read(t->text + (size_t)i * SASS_INSN);
}

/* The checker must refuse the change with this reason. Without this comparison, another check might have refused it. */
static bool is_refused_with(const struct twin *t, uint32_t i, struct sass_insn insn, const char *why)
{
	struct sass_insn was = get(t, i);
	bool is;

	sass_write(t->text + (size_t)i * SASS_INSN, insn);
	is = refused(t, true, why);
	sass_write(t->text + (size_t)i * SASS_INSN, was);
	return is;
}

static uint32_t find(const struct twin *t, uint32_t from, uint32_t opcode)
{
	while (from < t->n && sass_opcode(get(t, from)) != opcode)
		from++;
	return from;
}

/*
 * Returns the index of the NOP that waits for all scoreboards, between the program at an exit and the code that counts
 * lanes. Returns SASS_NONE if there is no such NOP.
 */
static uint32_t joint(const struct twin *t, uint32_t begin)
{
	while (begin-- > t->first) {
		struct sass_insn insn = get(t, begin);

		if (sass_opcode(insn) == SASS_OP_NOP && sass_wait_mask(insn) == SASS_ALL_BOARDS)
			return begin;
		if (sass_opcode(insn) != SASS_OP_NOP && sass_opcode(insn) != SASS_OP_BREAK && sass_opcode(insn) != SASS_OP_WARPSYNC_ALL)
			break;
	}
	return SASS_NONE;
}

/* Replaces the wait before the counting code by an exit, or by a branch past part of the counting code. */
static void change_before(const struct twin *t, uint32_t at, uint32_t adds)
{
	struct sass_insn past = sass_bra(t->code.arch, ((int64_t)adds - at) * SASS_INSN);
	char leaves[80], goes[80];

	snprintf(leaves, sizeof(leaves), "at 0x%x: lanes leave before they are counted", at * SASS_INSN);
	snprintf(goes, sizeof(goes), "at 0x%x: a branch skips the code that counts lanes", at * SASS_INSN);
	ok(is_refused_with(t, at, sass_exit_if(SASS_PT), leaves), "nobody ends who was not counted");
	ok(is_refused_with(t, at, past, goes), "or goes past some of it");
}

/*
 * Changes the code that counts exiting lanes, whose ATOMS is at index adds; the checker must refuse each change. A twin
 * may have two copies of this code, one of them for full warps. Returns whether a program precedes the code.
 */
static bool change_end(const struct twin *t, uint32_t adds)
{
	struct sass_insn add = get(t, adds), end = get(t, adds + 2), insns[SASS_COUNT_MAX_INSNS];
	uint32_t before = 0, votes = 0, at;
	char otherwise[80], back[80];

	snprintf(otherwise, sizeof(otherwise), "at 0x%x: the code that counts leaving lanes is wrong", adds * SASS_INSN);
	ok(is_refused_with(t, adds, sass_with_field(add, 40, 24, 0), otherwise), "a word that the kernel has is none to count in");
	ok(is_refused_with(t, adds, sass_with_field(add, 12, 4, 0), otherwise), "nor do some lanes alone count");
	ok(is_refused_with(t, adds, sass_with_field(add, 24, 8, sass_field(add, 16, 8)), otherwise), "nor at another address");
	ok(is_refused_with(t, adds, sass_nop(0, 5), "lanes that leave are not counted"), "nor nobody");
	ok(sass_opcode(end) == SASS_OP_EXIT && is_refused_with(t, adds + 2, sass_nop(0, 5), otherwise), "all but the last end");
	ok(is_refused_with(t, adds + 2, sass_with_field(end, 15, 1, 1), otherwise), "and the last does not");
	sass_count_end(t->code.arch, 0, insns);
	while (sass_opcode(insns[before]) != SASS_OP_ATOMS)
		before++;
	while (sass_opcode(insns[votes]) != SASS_OP_VOTE)
		votes++;
	ok(is_refused_with(t, adds - before + votes, sass_lane_bit(sass_field(insns[votes], 16, 8)), otherwise), "who is here is asked");
	snprintf(back, sizeof(back), "at 0x%x: a branch skips the code that counts lanes", (adds + 3) * SASS_INSN);
	ok(is_refused_with(t, adds + 3, sass_bra(t->code.arch, -4 * SASS_INSN), back), "and nobody is counted twice");
	at = joint(t, adds - before);
	if (at != SASS_NONE)
		change_before(t, at, adds);
	return at != SASS_NONE;
}

static void change_begin(const struct twin *t)
{
	static const char otherwise[] = "lanes are not counted at the entry", more[] = "a probe uses the block's shared memory";
	uint32_t puts = find(t, t->first, SASS_OP_STS), meets = find(t, puts, SASS_OP_BAR);
	struct sass_insn put = get(t, puts), meet = get(t, meets);
	char back[80];

	if (!ok(meets == puts + 1, "lanes meet behind the word's first value"))
		return;
	ok(is_refused_with(t, puts, sass_with_field(put, 40, 24, 0), otherwise), "which is not where the kernel has some");
	ok(is_refused_with(t, puts, sass_with_field(put, 32, 8, SASS_RZ), otherwise), "nor of another number");
	ok(is_refused_with(t, meets, sass_nop(0, 5), otherwise), "they do meet");
	ok(is_refused_with(t, meets, sass_with_field(meet, 54, 4, 1), otherwise), "at no other barrier,");
	ok(is_refused_with(t, meets, sass_with_field(meet, 12, 4, 0), otherwise), "all of them,");
	ok(is_refused_with(t, meets, sass_with_field(meet, 77, 2, 1), otherwise), "and wait");
	ok(is_refused_with(t, meets + 3, put, more) && is_refused_with(t, meets + 3, meet, more), "once");
	snprintf(back, sizeof(back), "at 0x%x: a branch skips the code that counts lanes", (meets + 1) * SASS_INSN);
	ok(is_refused_with(t, meets + 1, sass_bra(t->code.arch, -2 * SASS_INSN), back), "and nobody comes there again");
}

static void change_attributes(struct twin *t)
{
	uint32_t section = sass_section_of(&t->made, ".nv.shared.", t->made.kernels[0].text);
	Elf64_Shdr *heads = (Elf64_Shdr *)(t->bytes + t->made.head.e_shoff);
	const struct sass_section *info = &t->made.sections[t->made.kernels[0].info];
	uint32_t own = sass_section_of(&t->app, ".nv.shared.", t->kernel->text);
	uint64_t had = t->app.sections[own].head.sh_size, align = t->app.sections[own].head.sh_addralign;
	struct sass_item item = { 0 };
	size_t at = 0, before = 0;
	uint8_t *attr;

	if (!ok(section, "the twin has shared memory"))
		return;
	ok(own ? heads[section].sh_size == (had + align - 1) / align * align + SASS_COUNT_BYTES : heads[section].sh_size % 0x400 == SASS_COUNT_BYTES,
	   "the word lies behind it, aligned as it is");
	heads[section].sh_size -= SASS_COUNT_BYTES;
	ok(refused(t, true, "it declares a wrong size of shared memory"), "not of the kernel's");
	heads[section].sh_size += SASS_COUNT_BYTES + (own ? align : 0x400);
	ok(refused(t, true, "it declares a wrong size of shared memory"), "nor of what launches add");
	heads[section].sh_size -= own ? align : 0x400;
	while (sass_item_next(info->data, info->size, &at, &item) && item.attr != SASS_ATTR_NUM_BARRIERS)
		before = at;
	attr = (uint8_t *)info->data + before + 1;
	if (!ok(item.attr == SASS_ATTR_NUM_BARRIERS, "it says of a barrier"))
		return;
	*attr = 0x46;
	ok(refused(t, true, "it does not declare the barrier at which its lanes wait"), "which it has to");
	*attr = SASS_ATTR_NUM_BARRIERS;
	ok(refused(t, false, "a probe uses the block's shared memory"), "where nobody is to be counted, nobody is");
	ok(passes(t, true), "as it was it passes");
}

/*
 * Replaces the instruction at `own` in the application's code, and its copy in the twin, by an instruction that reads
 * the size of shared memory. Returns whether the checker refuses the twin with the reason `why`.
 */
static bool is_changed_query_refused(const struct twin *t, uint8_t *own, uint8_t *copy, const char *why)
{
	const struct sass_insn insn = sass_special(0, SASS_SR_SHARED_SIZE, 0);
	uint8_t was[SASS_INSN];
	bool is;

	memcpy(was, own, SASS_INSN);
	if (memcmp(own, copy, SASS_INSN))
		return false;
	sass_write(own, insn);
	sass_write(copy, insn);
	is = refused(t, true, why);
	memcpy(own, was, SASS_INSN);
	memcpy(copy, was, SASS_INSN);
	return is;
}

/*
 * Replaces instruction i of the kernel, and its copy in the twin, by an instruction that reads the size of shared
 * memory.
 */
static bool is_changed_kernel_refused(const struct twin *t, uint32_t i)
{
	struct sass_insn was = t->code.insns[i];
	bool is;

	t->code.insns[i] = sass_special(0, SASS_SR_SHARED_SIZE, 0);
	is = is_refused_with(t, i, t->code.insns[i], "it reads the size of its shared memory");
	t->code.insns[i] = was;
	return is;
}

/*
 * Makes an instruction of the kernel read the size of shared memory, and then the first instruction of each function
 * that the kernel calls. Returns whether the kernel calls a function.
 */
static bool change_query(const struct twin *t)
{
	bool any = false;
	uint32_t i = t->code.begin;

	while (i < t->first && !sass_is_same(t->code.insns[i], get(t, i)))
		i++;
	ok(i < t->first && is_changed_kernel_refused(t, i), "a kernel is not told of the word");
	for (uint32_t s = 1; s < t->made.nsections; s++) {
		const struct sass_section *copy = &t->made.sections[s];
		uint32_t own = sass_section_find(&t->app, copy->name);

		if (!(copy->head.sh_flags & SHF_EXECINSTR) || s == t->made.kernels[0].text)
			continue;
		any = true;
		ok(own && is_changed_query_refused(t, (uint8_t *)t->app.sections[own].data, (uint8_t *)copy->data, "a function that it calls reads the size of shared memory"),
		   "nor is a function that it calls");
	}
	return any;
}

static const char *open_twin(struct twin *t, const char *file, char *app, size_t size)
{
	static struct gpubpf_diag diag;

	*t = (struct twin){ 0 };
	t->bytes = (uint8_t *)read_file(file, &t->size);
	gpubpf_diag_init(&diag);
	if (sass_cubin_open(app, size, &t->app, &diag) < 0 || sass_cubin_open(t->bytes, t->size, &t->made, &diag) < 0)
		return diag.what;
	t->kernel = sass_kernel_find(&t->app, t->made.symbols[t->made.kernels[0].symbol].name + strlen(GPUBPF_TWIN_PREFIX));
	if (!t->kernel || sass_code_read(&t->app, t->kernel, &t->code, &diag) < 0)
		return t->kernel ? diag.what : "of no kernel that is there";
	t->text = (uint8_t *)t->made.sections[t->made.kernels[0].text].data;
	t->n = t->made.sections[t->made.kernels[0].text].size / SASS_INSN;
	t->first = t->code.tail != SASS_NONE ? t->code.tail : (t->code.n + 7) / 8 * 8;
	return NULL;
}

/* some twin had a program before the counting code (seen_before), or a called function (seen_called) */
static bool seen_before, seen_called;

static void try_twin(const char *file, char *app, size_t size)
{
	const char *why;
	struct twin t;

	why = open_twin(&t, file, app, size);
	if (!ok(!why, "%s is a twin of one of its kernels", base_name(file))) {
		note("%s", why);
		return;
	}
	ok(passes(&t, true), "%s passes", t.app.symbols[t.kernel->symbol].name);
	change_begin(&t);
	change_attributes(&t);
	seen_called |= change_query(&t);
	for (uint32_t adds = find(&t, t.first, SASS_OP_ATOMS); adds < t.n; adds = find(&t, adds + 1, SASS_OP_ATOMS))
		seen_before |= change_end(&t, adds);
	sass_code_finish(&t.code);
	sass_cubin_finish(&t.made);
	sass_cubin_finish(&t.app);
	free(t.bytes);
}

static void try_twins(const char *folder, char *app, size_t size)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' && strncmp(entry->d_name, "probes", 6))
			try_twin(path, app, size);
		if (entry->d_name[0] != '.')
			unlink(path);
	}
	if (dir)
		closedir(dir);
}

/* Makes and tests twins with the object's programs. Returns false if there is no assembler. */
static bool try_object(char **argv, const char *file, const char *object, char *app, size_t size)
{
	char folder[] = "/tmp/gpubpf-counts-XXXXXX", command[4096];
	int status = -1;

	if (mkdtemp(folder)) {
		snprintf(command, sizeof(command), "'%s' '%s' %s '%s' 1 '%s' >&2", argv[1], file, argv[3], object, folder);
		status = system(command);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(argv[3], "no libnvJitLink.so here");
	else
		ok(!status, "twins are made");
	try_twins(folder, app, size);
	rmdir(folder);
	return !status;
}

static bool is_source(const char *file)
{
	size_t n = strlen(file);

	return n > 3 && !strcmp(file + n - 3, ".cu");
}

/* Reads the file, or compiles a source to a cubin at path. Returns NULL if there is no compiler. */
static char *open_app(const char *file, const char *arch, char *path, size_t *size)
{
	char *app;
	int fd;

	if (!is_source(file))
		return read_file(file, size);
	app = compiled_cubin(file, arch, "-rdc=true -dlink", size);
	fd = app ? mkstemp(path) : -1;
	if (app && (fd < 0 || write(fd, app, *size) != (ssize_t)*size || close(fd)))
		abort();
	return app;
}

/* Makes and tests a twin of a kernel whose shared memory size is no multiple of its alignment. */
static bool try_aligned(char **argv, char *app, size_t size)
{
	char path[] = "/tmp/gpubpf-counts-XXXXXX";
	int fd = mkstemp(path);
	struct gpubpf_diag diag;
	struct sass_cubin c;
	bool made;

	gpubpf_diag_init(&diag);
	if (fd < 0 || sass_cubin_open(app, size, &c, &diag) < 0)
		abort();
	for (uint32_t i = 0; i < c.nsections; i++)
		if (!strncmp(c.sections[i].name, ".nv.shared.", 11) && strncmp(c.sections[i].name, ".nv.shared.reserved.", 20))
			((Elf64_Shdr *)(app + c.head.e_shoff))[i].sh_addralign = 1024;
	sass_cubin_finish(&c);
	if (write(fd, app, size) != (ssize_t)size || close(fd))
		abort();
	made = try_object(argv, path, argv[4], app, size);
	unlink(path);
	return made;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/gpubpf-counts-XXXXXX";
	bool compiled, made = true;
	size_t size;
	char *app;

	if (argc < 5)
		return 2;
	app = open_app(argv[2], argv[3], path, &size);
	if (!app) {
		skip(argv[3], "no nvcc here that links relocatable code; GPUBPF_TEST_NVCC names one");
		return done();
	}
	compiled = is_source(argv[2]);
	for (int i = 4; i < argc; i++)
		made &= try_object(argv, compiled ? path : argv[2], argv[i], app, size);
	if (!compiled)
		made &= try_aligned(argv, app, size);
	count_blocks(strtoul(argv[3] + strlen("sm_"), NULL, 10));
	ok(!made || (compiled ? seen_called : seen_before), compiled ? "one calls functions" : "some have programs at their exits");
	if (compiled)
		unlink(path);
	free(app);
	ran("sass", "block_end");
	return done();
}
