/* SPDX-License-Identifier: Apache-2.0 */
/* Reads functions from debug information: DWARF 5, 3.3 "Subroutine and Entry Point Entries" and 5 "Type Entries". */
#include "functions.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILER "clang version "
/* the first major version of clang that marks functions whose parameters or result the optimizer changed */
#define MIN_MARKING_MAJOR 15

#ifndef DW_AT_LLVM_address_space
#define DW_AT_LLVM_address_space 0x3e08
#endif

/* Reads the type of a number, or of a pointer to memory that all lanes share. Returns false for other types. */
static bool read_type(Dwarf_Die *of, struct gpubpf_param *param)
{
	Dwarf_Attribute at;
	Dwarf_Word size = 8, encoding = 0;
	Dwarf_Die type, peeled;
	int tag;

	if (!dwarf_formref_die(dwarf_attr_integrate(of, DW_AT_type, &at), &type) || dwarf_peel_type(&type, &peeled))
		return false;
	tag = dwarf_tag(&peeled);
	if (tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type) {
		if (dwarf_formudata(dwarf_attr(&peeled, DW_AT_byte_size, &at), &size) || !size || size > 8 ||
		    size & (size - 1))
			return false;
		dwarf_formudata(dwarf_attr(&peeled, DW_AT_encoding, &at), &encoding);
	} else if ((tag != DW_TAG_pointer_type && tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) ||
		   dwarf_hasattr(&peeled, DW_AT_address_class) || dwarf_hasattr(&peeled, DW_AT_LLVM_address_space)) {
		return false;
	} else {
		encoding = DW_ATE_address;
	}
	param->kind = encoding == DW_ATE_address ? GPUBPF_PARAM_POINTER :
		      encoding == DW_ATE_float   ? GPUBPF_PARAM_FLOAT :
						   GPUBPF_PARAM_INT;
	param->size = param->align = size;
	if (dwarf_diename(&type))
		snprintf(param->type, sizeof(param->type), "%s", dwarf_diename(&type));
	return true;
}

/*
 * Adds a parameter. A parameter without a location was removed by the compiler. If the parameter was removed, or
 * read_type() does not accept its type, this and all later parameters are omitted.
 */
static void add_param(struct gpubpf_function *f, Dwarf_Die *die)
{
	struct gpubpf_param param = { .bytes_off = UINT32_MAX };
	const char *name = dwarf_diename(die);

	if (!f->whole || f->nparams == GPUBPF_FUNCTION_PARAMS || !dwarf_hasattr(die, DW_AT_location) ||
	    !read_type(die, &param)) {
		f->whole = false;
		return;
	}
	snprintf(param.name, sizeof(param.name), "%s", name ? name : "");
	f->params[f->nparams++] = param;
}

static void read_params(struct gpubpf_function *f, Dwarf_Die *function)
{
	Dwarf_Die die;

	f->whole = true;
	if (dwarf_child(function, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_formal_parameter)
			add_param(f, &die);
		else if (dwarf_tag(&die) == DW_TAG_unspecified_parameters)
			f->whole = false;
	} while (!dwarf_siblingof(&die, &die));
}

static int add_function(Dwarf_Die *die, void *arg)
{
	struct gpubpf_functions *to = arg;
	struct gpubpf_param result = { 0 };
	struct gpubpf_function *grown;
	Dwarf_Attribute at;
	Dwarf_Addr address;
	Dwarf_Word convention = 0;

	if (dwarf_lowpc(die, &address))
		return DWARF_CB_OK;
	if (!dwarf_formudata(dwarf_attr_integrate(die, DW_AT_calling_convention, &at), &convention) &&
	    convention == DW_CC_nocall)
		return DWARF_CB_OK;
	grown = realloc(to->list, (to->n + 1) * sizeof(*grown));
	if (!grown)
		return DWARF_CB_ABORT;
	to->list = grown;
	grown += to->n++;
	*grown = (struct gpubpf_function){ .address = address };
	read_params(grown, die);
	grown->returns = !dwarf_hasattr_integrate(die, DW_AT_type) || read_type(die, &result);
	grown->result = result.size;
	return DWARF_CB_OK;
}

/* Does the compiler of this compilation unit mark functions whose parameters or result the optimizer changed? */
static bool marks_changes(Dwarf_Die *unit)
{
	Dwarf_Attribute at;
	const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &at));
	const char *version = producer ? strstr(producer, COMPILER) : NULL;

	return version && atoi(version + strlen(COMPILER)) >= MIN_MARKING_MAJOR;
}

void gpubpf_functions_read(const void *image, size_t size, struct gpubpf_functions *functions)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf *dwarf;
	Dwarf_Die die;
	Elf *elf;

	*functions = (struct gpubpf_functions){ 0 };
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, size);
	dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	for (; dwarf && !dwarf_get_units(dwarf, unit, &next, NULL, NULL, &die, NULL); unit = next)
		if (marks_changes(&die))
			dwarf_getfuncs(&die, add_function, functions, 0);
	dwarf_end(dwarf);
	elf_end(elf);
}

const struct gpubpf_function *gpubpf_functions_at(const struct gpubpf_functions *functions, uint64_t address)
{
	for (size_t i = 0; i < functions->n; i++)
		if (functions->list[i].address == address)
			return &functions->list[i];
	return NULL;
}

void gpubpf_functions_finish(struct gpubpf_functions *functions)
{
	free(functions->list);
	*functions = (struct gpubpf_functions){ 0 };
}
