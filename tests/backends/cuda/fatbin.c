/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fatbin: reads hand-made fatbin containers. Tests which entry the reader chooses, decompression, and the refusal of
 * wrong sizes and headers.
 */
#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "backends/cuda/image/fatbin.h"
#include "backends/cuda/sass/cubin/image.h"
#include "case.h"
#include "core/model/diag.h"
#include "tests/tap.h"

#define HEADER 64
enum packing { PLAIN, LZ4 = 0x2000, ZSTD = 0x8000 };

struct container {
	uint8_t bytes[16384];
	size_t size;
	size_t entry; /* offset of the last entry */
};

static void write_number(uint8_t *at, uint64_t v, size_t n)
{
	memcpy(at, &v, n);
}

static void open_container(struct container *c)
{
	memset(c, 0, sizeof(*c));
	write_number(c->bytes, FATBIN_MAGIC, 4);
	write_number(c->bytes + 4, 1, 2);
	write_number(c->bytes + 6, 16, 2);
	c->size = 16;
}

static void add_bytes(struct container *c, enum fatbin_kind kind, uint32_t arch, const void *text, size_t n,
		      uint64_t packing)
{
	uint8_t *at = c->bytes + c->size, *data = at + HEADER;
	size_t packed = n, length, room = sizeof(c->bytes) - c->size - HEADER;

	if (packing & LZ4)
		packed = LZ4_compress_default(text, (char *)data, n, room);
	else if (packing & ZSTD)
		packed = ZSTD_compress(data, room, text, n, 3);
	else
		memcpy(data, text, n);
	length = (packed + 7) & ~(size_t)7;
	write_number(at, kind, 2);
	write_number(at + 2, 0x101, 2);
	write_number(at + 4, HEADER, 4);
	write_number(at + 8, length, 8);
	write_number(at + 16, packed == n ? 0 : packed, 4);
	write_number(at + 28, arch, 4);
	write_number(at + 40, packing, 8);
	write_number(at + 56, packed == n ? 0 : n, 8);
	c->entry = c->size;
	c->size += HEADER + length;
	write_number(c->bytes + 8, c->size - 16, 8);
}

static void add_entry(struct container *c, enum fatbin_kind kind, uint32_t arch, const char *text, uint64_t flags)
{
	add_bytes(c, kind, arch, text, strlen(text), flags);
}

/*
 * Adds machine code that claims to be compiled from PTX for compute_<virtual>. For ABI version 7 ptxas stores this
 * number in e_flags, for version 8 in a note. The invented version 9 stores no number. `kept` is the PTX that
 * -lineinfo stores, or NULL.
 */
static void add_cubin(struct container *c, uint32_t arch, uint64_t flags, int abi, uint16_t virtual, const char *kept)
{
	static const char names[] = "\0.shstrtab\0.note.nv.cuinfo\0.nv_debug_ptx_txt";
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Shdr sections[4];
		char names[64], kept[128];
		struct {
			Elf64_Nhdr head;
			char owner[12];
			uint16_t version, virtual;
			uint32_t toolkit;
		} note;
	} elf = {
		.ehdr = { .e_ident = { [EI_CLASS] = ELFCLASS64, [EI_ABIVERSION] = abi == 7 ? 7 : 8 },
			  .e_flags = abi == 7 ? (uint32_t)virtual << 16 | 0x500 | arch : 0x6000004 | arch << 8,
			  .e_shoff = sizeof(Elf64_Ehdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = kept     ? 4 :
				     abi == 8 ? 3 :
						2,
			  .e_shstrndx = 1 },
		.note = { { 12, 8, 1000 }, "NVIDIA Corp", 2, virtual, 130 },
	};

	memcpy(elf.ehdr.e_ident, ELFMAG, SELFMAG);
	memcpy(elf.names, names, sizeof(names));
	elf.sections[1] =
		(Elf64_Shdr){ .sh_name = 1, .sh_offset = (char *)elf.names - (char *)&elf, .sh_size = sizeof(names) };
	elf.sections[2] = (Elf64_Shdr){ .sh_name = abi == 8 ? 11 : 0,
					.sh_offset = (char *)&elf.note - (char *)&elf,
					.sh_size = sizeof(elf.note) };
	elf.sections[3] = (Elf64_Shdr){ .sh_name = 27,
					.sh_offset = (char *)elf.kept - (char *)&elf,
					.sh_size = kept ? strlen(kept) : 0 };
	snprintf(elf.kept, sizeof(elf.kept), "%s", kept ? kept : "");
	add_bytes(c, FATBIN_ELF, arch, &elf, sizeof(elf), flags);
}

/* Copies the image as the agent does; the copy must give the same PTX. */
static void expect_copy(const char *name, const struct container *c, size_t size, uint32_t sm, const char *text)
{
	struct gpubpf_diag diag;
	size_t n = 0, copy_size;
	char *got = NULL;
	void *copy;

	gpubpf_diag_init(&diag);
	if (!ok(!cuda_image_copy(guard(c->bytes, size), size, sm, &copy, &copy_size), "%s: it is copied", name))
		return;
	ok(!cuda_image_ptx(copy, copy_size, sm, &got, &n, &diag) && n >= strlen(text) &&
		   !memcmp(got, text, strlen(text)) && copy_size <= c->size,
	   "%s: the copy has it", name);
	free(got);
	free(copy);
}

/*
 * For the device sm the reader must return the PTX in `text`. If text is NULL, the reader must refuse the image with
 * the reason `why`.
 */
static void expect(const char *name, const struct container *c, size_t size, uint32_t sm, const char *text, const char *why)
{
	struct gpubpf_diag diag;
	char *got = NULL;
	size_t n = 0;
	int err;

	gpubpf_diag_init(&diag);
	err = cuda_image_ptx(guard(c->bytes, size), size, sm, &got, &n, &diag);
	if (text ? !ok(!err && n >= strlen(text) && !memcmp(got, text, strlen(text)), "%s", name) :
		   !ok(err < 0 && strstr(diag.what, why), "%s: %s", name, why))
		note("%s", err < 0 ? diag.what : got);
	if (!err)
		free(got);
	if (text)
		expect_copy(name, c, size, sm, text);
}

static const char sm70[] = ".version 6.3 // text for sm_70, long enough, long enough, long enough to be packed";
static const char sm80[] = ".version 7.8 // text for sm_80, long enough, long enough, long enough to be packed";
static const char sm90[] = ".version 8.4 // text for sm_90, long enough, long enough, long enough to be packed";

static void make_all(struct container *c)
{
	open_container(c);
	add_entry(c, FATBIN_PTX, 80, sm80, LZ4);
	add_entry(c, FATBIN_ELF, 90, "machine code", PLAIN);
	add_entry(c, FATBIN_PTX, 70, sm70, PLAIN);
	add_entry(c, FATBIN_PTX, 90, sm90, ZSTD);
}

static void test_choice(void)
{
	struct container c;

	make_all(&c);
	expect("plain: sm_75 takes the text of sm_70", &c, c.size, 75, sm70, NULL);
	expect("LZ4: sm_89 takes the text of sm_80", &c, c.size, 89, sm80, NULL);
	expect("zstd: sm_90 takes its own", &c, c.size, 90, sm90, NULL);
	expect("the newest that is not too new", &c, c.size, 120, sm90, NULL);
	expect("all too new", &c, c.size, 61, NULL, "neither PTX nor machine code that sm_61 can run");
	open_container(&c);
	add_entry(&c, FATBIN_ELF, 90, "machine code", PLAIN);
	expect("machine code of another architecture", &c, c.size, 80, NULL,
	       "neither PTX nor machine code that sm_80 can run");
	expect("machine code that is none", &c, c.size, 90, NULL, "cubin is cut off");
}

/*
 * The reader accepts only the PTX from which the running machine code was compiled. Other PTX may differ, because it
 * may depend on __CUDA_ARCH__.
 */
static void test_source(void)
{
	struct container c;

	for (int abi = 7; abi <= 8; abi++) {
		open_container(&c);
		add_cubin(&c, 90, 0, abi, 90, NULL);
		add_entry(&c, FATBIN_PTX, 80, sm80, PLAIN);
		add_entry(&c, FATBIN_PTX, 90, sm70, FATBIN_SPECIFIC);
		add_entry(&c, FATBIN_PTX, 90, sm90, ZSTD);
		expect("sm_90 of compute_90", &c, c.size, 90, sm90, NULL);
		open_container(&c);
		add_entry(&c, FATBIN_PTX, 80, sm80, PLAIN);
		add_cubin(&c, 90, 0, abi, 80, NULL);
		add_entry(&c, FATBIN_PTX, 90, sm90, ZSTD);
		expect("sm_90 of compute_80", &c, c.size, 90, sm80, NULL);
		expect("sm_90 of compute_80, on another device", &c, c.size, 86, sm80, NULL);
		open_container(&c);
		add_entry(&c, FATBIN_PTX, 80, sm80, LZ4);
		add_cubin(&c, 90, FATBIN_SPECIFIC, abi, 90, NULL);
		expect("sm_90a, and PTX for compute_80", &c, c.size, 90, NULL,
		       "it lacks the PTX for compute_90a of its machine code for sm_90a; "
		       "its PTX for compute_80 may be different code");
		expect("that PTX on a device for which there is no machine code", &c, c.size, 80, sm80, NULL);
		open_container(&c);
		add_entry(&c, FATBIN_PTX, 75, sm80, LZ4);
		add_cubin(&c, 90, 0, abi, 90, sm90);
		expect("machine code that keeps its PTX", &c, c.size, 90, sm90, NULL);
	}
	open_container(&c);
	add_cubin(&c, 100, 0, 9, 80, NULL);
	add_entry(&c, FATBIN_PTX, 80, sm80, LZ4);
	expect("machine code that tells nothing, PTX for another", &c, c.size, 100, NULL,
	       "it lacks the PTX for compute_100 of its machine code for sm_100; its PTX for");
	add_entry(&c, FATBIN_PTX, 100, sm90, LZ4);
	expect("machine code that tells nothing, PTX for the same", &c, c.size, 100, sm90, NULL);
}

/* compute_90a runs on 9.0 only, compute_100f on 10.x only (PTX ISA 11.1.2) */
static void test_suffix(void)
{
	struct container c;

	open_container(&c);
	add_entry(&c, FATBIN_PTX, 80, sm80, LZ4);
	add_entry(&c, FATBIN_PTX, 90, sm90, LZ4 | FATBIN_SPECIFIC);
	expect("compute_90a on sm_100", &c, c.size, 100, sm80, NULL);
	expect("compute_90a on sm_90", &c, c.size, 90, sm90, NULL);
	add_entry(&c, FATBIN_PTX, 100, sm70, FATBIN_FAMILY);
	expect("compute_100f on sm_103", &c, c.size, 103, sm70, NULL);
	expect("compute_100f on sm_120", &c, c.size, 120, sm80, NULL);
	add_cubin(&c, 90, 0, 8, 90, NULL);
	expect("compute_90a and machine code for sm_90", &c, c.size, 90, NULL, "its PTX for compute_90a");
	add_entry(&c, FATBIN_PTX, 90, sm70, LZ4);
	expect("compute_90, compute_90a and machine code for sm_90", &c, c.size, 90, sm70, NULL);
	add_cubin(&c, 90, FATBIN_SPECIFIC, 8, 90, NULL);
	expect("machine code for sm_90 and for sm_90a", &c, c.size, 90, NULL,
	       "cannot know which of the two the driver runs");
}

static int count_cubin(void *arg, const void *cubin, size_t size, struct gpubpf_diag *diag)
{
	(void)cubin, (void)size, (void)diag;
	++*(uint32_t *)arg;
	return 0;
}

/* If an image has both linked and relocatable machine code, only the linked code contains kernels. */
static void test_relocatable(void)
{
	static struct container c;
	Elf64_Ehdr head = { .e_machine = 190 /* EM_CUDA */ };
	struct gpubpf_diag diag;
	uint32_t n = 0;

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	open_container(&c);
	head.e_type = ET_REL;
	add_bytes(&c, FATBIN_ELF, 90, &head, sizeof(head), PLAIN);
	add_bytes(&c, FATBIN_ELF, 90, &head, sizeof(head), ZSTD);
	head.e_type = ET_EXEC;
	add_bytes(&c, FATBIN_ELF, 90, &head, sizeof(head), LZ4);
	gpubpf_diag_init(&diag);
	ok(!sass_image_each(guard(c.bytes, c.size), c.size, 90, count_cubin, &n, &diag) && n == 1,
	   "relocatable machine code is none that runs");
}

/*
 * Tests the output of nvcc -rdc as the driver receives it: linked machine code, followed by the modules from which it
 * was linked.
 */
static void test_linked(void)
{
	static struct container program, first, second;
	const void *parts[] = { first.bytes, second.bytes, NULL };
	struct {
		uint32_t magic, version;
		const void *data;
		const void *const *parts;
	} wrapper = { FATBIN_WRAPPER_MAGIC, 2, program.bytes, parts };
	char expected[256], *got = NULL;
	struct gpubpf_diag diag;
	void *image, *copy = NULL;
	size_t size, copy_size, n = 0, whole = 0;

	open_container(&program);
	add_entry(&program, FATBIN_ELF, 90, "machine code", PLAIN);
	make_all(&first);
	open_container(&second);
	add_entry(&second, FATBIN_PTX, 70, sm70, LZ4);
	add_entry(&second, FATBIN_PTX, 100, sm90, PLAIN);
	image = cuda_image_linked(&wrapper, &size);
	if (!ok(image && size == program.size + first.size + second.size, "linked: all of it is kept"))
		return;
	snprintf(expected, sizeof(expected), "%s\n%s\n", sm90, sm70);
	gpubpf_diag_init(&diag);
	ok(!cuda_image_copy(guard(image, size), size, 90, &copy, &copy_size) && copy_size < size &&
		   !cuda_image_ptx(copy, copy_size, 90, &got, &n, &diag) && n == strlen(expected) &&
		   !memcmp(got, expected, n),
	   "linked: the texts of its modules, one behind the other");
	free(got);
	free(copy);
	ok(cuda_image_ptx(image, size, 75, &got, &n, &diag) == 0 && n == 2 * strlen(sm70) + 2,
	   "linked: for another device");
	free(got);
	gpubpf_diag_init(&diag);
	ok(cuda_image_ptx(image, size, 61, &got, &n, &diag) < 0 && strstr(diag.what, "none of the linked modules"),
	   "linked: no module with PTX for the device");
	for (size_t cut = program.size + 17; cut < size; cut += 7) {
		gpubpf_diag_init(&diag);
		if (!cuda_image_ptx(guard(image, cut), cut, 90, &got, &n, &diag)) {
			whole += n == strlen(expected);
			free(got);
		}
	}
	ok(!whole, "linked: cut anywhere, it is never taken for the whole");
	wrapper.version = 1;
	ok(!cuda_image_linked(&wrapper, &size) && !cuda_image_linked(program.bytes, &size), "not linked: nothing");
	free(image);
}

/* A container cut at any byte must be refused as longer than its data. */
static void test_truncated(void)
{
	size_t taken = 0;
	struct container c;

	make_all(&c);
	for (size_t n = 4; n < c.size; n++) {
		struct gpubpf_diag diag;
		char *got;
		size_t got_size;

		gpubpf_diag_init(&diag);
		if (!cuda_image_ptx(guard(c.bytes, n), n, 90, &got, &got_size, &diag)) {
			free(got);
			taken++;
		} else {
			taken += !diag.what[0];
		}
	}
	ok(!taken, "each of %zu prefixes is refused", c.size - 4);
}

static void lie(const char *name, size_t at, uint64_t value, size_t bytes, bool of_entry, const char *why)
{
	struct container c;

	make_all(&c);
	write_number(c.bytes + (of_entry ? c.entry : 0) + at, value, bytes);
	expect(name, &c, c.size, 90, NULL, why);
}

static void test_lies(void)
{
	lie("a body of 2^63", 8, 1ull << 63, 8, false, "longer than the image");
	lie("a header beyond the image", 6, 0xffff, 2, false, "longer than the image");
	lie("a header of nothing", 6, 0, 2, false, "longer than the image");
	lie("an entry of 2^64 - 1", 8, ~0ull, 8, true, "longer than its container");
	lie("an entry header of nothing", 4, 0, 4, true, "longer than its container");
	lie("an entry header of 2^32 - 1", 4, ~0u, 4, true, "longer than its container");
	lie("more packed than there is", 16, 100000, 4, true, "longer than its container");
	lie("a plain size too small", 56, 10, 8, true, "does not decompress to its stated size");
	lie("a plain size too large", 56, 100000, 8, true, "does not decompress to its stated size");
	lie("a plain size of 2^40", 56, 1ull << 40, 8, true, "larger than 512 MiB");
	lie("LZ4 that is zstd", 40, LZ4, 8, true, "does not decompress to its stated size");
}

static void test_mutations(void)
{
	struct container c;
	size_t silent = 0;

	for (int i = 0; i < 5000; i++) {
		struct gpubpf_diag diag;
		void *copy;
		char *got;
		size_t n;

		make_all(&c);
		for (int k = 0; k < 3; k++)
			c.bytes[4 + random_below(c.size - 4)] = random_below(256);
		gpubpf_diag_init(&diag);
		if (!cuda_image_ptx(guard(c.bytes, c.size), c.size, 90, &got, &n, &diag))
			free(got);
		else
			silent += !diag.what[0];
		if (!cuda_image_copy(guard(c.bytes, c.size), c.size, 90, &copy, &n))
			free(copy);
	}
	ok(!silent, "5000 mutations are read, or refused with a reason");
}

int main(void)
{
	test_choice();
	test_source();
	test_suffix();
	test_linked();
	test_relocatable();
	test_truncated();
	test_lies();
	test_mutations();
	return done();
}
