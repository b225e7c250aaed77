/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/facts.h"

struct gpubpf_device_caps cli_dump_device(const char *cpu)
{
	struct gpubpf_device_caps caps = {
		.name = "any",
		.bits = GPUBPF_CAP_ACCEPTS_SPIRV | GPUBPF_CAP_ACCEPTS_OPENCL_C | GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_LINK |
			GPUBPF_CAP_EXIT_THREAD | GPUBPF_CAP_OFFSET | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_ALLOCATIONS,
		.clock = GPUBPF_CLOCK_KHR,
		.compute_units = 64,
		.warp_size = 32,
		.spirv_version = 0x00010400,
		.opencl_c_version = 300,
		.address_bits = 64,
		.max_threads_per_block = 1024,
	};

	snprintf(caps.arch, sizeof(caps.arch), "%s", cpu ? cpu : "");
	return caps;
}

static int verify(struct gpubpf_unit *unit, uint32_t *use, bool *prints, struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { .max_cost = UINT64_MAX, .allow_exit_thread = true };

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		int err = gpubpf_verify(unit, &unit->progs[i], &opts, diag);

		if (err < 0) {
			gpubpf_diag_where(diag, "program %s", unit->progs[i].name);
			return err;
		}
		*prints |= unit->progs[i].facts->prints;
		for (uint32_t m = 0; m < unit->nmaps; m++)
			use[m] |= unit->progs[i].facts->map_use[m];
	}
	return 0;
}

int cli_dump_prepare(struct gpubpf_unit *unit, const struct gpubpf_device_caps *caps, struct gpubpf_layout *layout,
		     struct gpubpf_diag *diag)
{
	uint32_t *use = calloc(unit->nmaps + 1, sizeof(*use));
	struct gpubpf_layout_opts opts = { .replicas = caps->compute_units, .map_use = use };
	bool prints = false;
	int err = use ? verify(unit, use, &prints, diag) : -ENOMEM;

	opts.print_bytes = prints ? 1 << 20 : 0;
	if (!err)
		err = gpubpf_layout_compute(unit, &opts, layout, diag);
	free(use);
	return err;
}

void cli_dump_release(struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		gpubpf_facts_destroy(unit->progs[i].facts);
		unit->progs[i].facts = NULL;
	}
}

/* -- names of stages and passes -- */

static void list_names(enum gpubpf_stage stage, bool is_stage, FILE *out)
{
	const struct cli_pass *pass;

	for (size_t i = 0; (pass = cli_pass_row(i)); i++)
		if (pass->stage == stage && pass->is_stage == is_stage)
			fprintf(out, "%s%-16s %s\n", is_stage ? "" : "  ", pass->name, pass->does);
}

/* Print the stages in the order in which they run. Below each stage, print its passes in their order. */
static void list_passes(uint32_t stages, FILE *out)
{
	for (enum gpubpf_stage stage = 0; stage < GPUBPF_NSTAGES; stage++) {
		if (!(stages >> stage & 1))
			continue;
		list_names(stage, true, out);
		list_names(stage, false, out);
	}
}

int cli_dump_check_pass(const char *name, uint32_t stages, uint32_t listed)
{
	const struct cli_pass *pass;

	if (!strcmp(name, "help")) {
		list_passes(listed, stdout);
		return -1;
	}
	for (size_t i = 0; (pass = cli_pass_row(i)); i++)
		if (!strcmp(pass->name, name) && stages >> pass->stage & 1)
			return CLI_OK;
	cli_error("--after %s: is not the name of a stage or pass; the names are", name);
	list_passes(stages, stderr);
	return CLI_USAGE;
}

/* -- listings -- */

#define SPIRV_MAGIC 0x07230203
#define SPIRV_HEADER_WORDS 5
#define MACHINE_CUDA 190
#define CUDA_INSN_BYTES 16
#define AMD_INSN_BYTES 4

/*
 * Print one SPIR-V instruction per line. The high half of an instruction's first word is the number of its words
 * (SPIR-V specification 2.3).
 */
static void print_spirv(const uint32_t *word, size_t n, FILE *out)
{
	for (size_t i = SPIRV_HEADER_WORDS; i < n;) {
		size_t size = word[i] >> 16;

		fprintf(out, "%6zu: op %-5u", i, word[i] & 0xffff);
		for (size_t k = 1; k < size && i + k < n; k++)
			fprintf(out, " %08x", word[i + k]);
		fprintf(out, "\n");
		i += size ? size : 1;
	}
}

/* Print a section as 32-bit words, with `bytes` bytes per line. An NVIDIA instruction has 16 bytes. */
static void print_words(const char *data, size_t size, unsigned bytes, FILE *out)
{
	for (size_t at = 0; at < size; at += bytes) {
		fprintf(out, "%6zx:", at);
		for (size_t i = at; i < at + bytes && i + 4 <= size; i += 4) {
			uint32_t word;

			memcpy(&word, data + i, sizeof(word));
			fprintf(out, " %08x", word);
		}
		fprintf(out, "\n");
	}
}

/* Read section header `i`. Returns false if it lies outside the file. */
static bool read_section(const struct gpubpf_blob *elf, const Elf64_Ehdr *head, uint32_t i, Elf64_Shdr *section)
{
	if (head->e_shoff > elf->size || (elf->size - head->e_shoff) / sizeof(*section) <= i)
		return false;
	memcpy(section, (char *)elf->data + head->e_shoff + i * sizeof(*section), sizeof(*section));
	return section->sh_type == SHT_NOBITS ||
	       (section->sh_offset <= elf->size && section->sh_size <= elf->size - section->sh_offset);
}

static const char *get_section_name(const struct gpubpf_blob *elf, const Elf64_Shdr *names, uint32_t at)
{
	const char *from = (char *)elf->data + names->sh_offset;

	return at < names->sh_size && memchr(from + at, 0, names->sh_size - at) ? from + at : "?";
}

static void print_elf(const struct gpubpf_blob *elf, FILE *out)
{
	Elf64_Shdr section, names;
	Elf64_Ehdr head;

	memcpy(&head, elf->data, sizeof(head));
	if (!read_section(elf, &head, head.e_shstrndx, &names) || names.sh_type == SHT_NOBITS)
		return;
	for (uint32_t i = 0; i < head.e_shnum; i++) {
		if (!read_section(elf, &head, i, &section) || section.sh_type != SHT_PROGBITS ||
		    !(section.sh_flags & SHF_EXECINSTR))
			continue;
		fprintf(out, "%s:\n", get_section_name(elf, &names, section.sh_name));
		print_words((char *)elf->data + section.sh_offset, section.sh_size,
			    head.e_machine == MACHINE_CUDA ? CUDA_INSN_BYTES : AMD_INSN_BYTES, out);
	}
}

void cli_dump_print(const struct gpubpf_blob *code, FILE *out)
{
	uint32_t magic = 0;

	if (code->size >= sizeof(magic))
		memcpy(&magic, code->data, sizeof(magic));
	if (magic == SPIRV_MAGIC)
		print_spirv(code->data, code->size / sizeof(uint32_t), out);
	else if (code->size > sizeof(Elf64_Ehdr) && !memcmp(code->data, ELFMAG, SELFMAG))
		print_elf(code, out);
	else
		fwrite(code->data, 1, code->size, out);
}
