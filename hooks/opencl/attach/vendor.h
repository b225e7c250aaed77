/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vendors' dispatch tables (cl_khr_icd). Each OpenCL object begins with a pointer to its vendor's table, and the
 * OpenCL loader calls the functions in this table. In an attached session, the agent replaces entries of these tables
 * by thunks (vendor_x86_64.S), of two kinds.
 *
 * A hook thunk counts the call in ocl_inside, calls the agent's function, and counts the return. After the detach, the
 * thunk only jumps to the vendor's function.
 *
 * A vendor thunk jumps to the vendor's own function for the object in the first argument. The agent calls the vendors
 * through the table `ocl`. In an attached session, the entries of `ocl` are vendor thunks.
 */
#ifndef GPUBPF_HOOKS_OPENCL_VENDOR_H
#define GPUBPF_HOOKS_OPENCL_VENDOR_H

#define OCL_ENTRIES 256   /* number of thunks; at least the number of functions in cl_icd_dispatch */
#define OCL_THUNK_SIZE 16 /* size of a thunk in bytes */
#define OCL_MAX_TABLES 16

#include "hooks/calls.h"

#ifndef __ASSEMBLER__

#include "hooks/opencl/opencl.h"

/* A vendor's table, and a copy of the entries that the agent found in it. The list ends with a NULL table. */
struct ocl_table {
	void **table, **saved;
};

extern struct ocl_table ocl_tables[OCL_MAX_TABLES + 1];
extern void *ocl_hooks[OCL_ENTRIES];                /* the agent's functions; NULL: not hooked */
extern void *ocl_vendors[OCL_ENTRIES];              /* the entries of `ocl` in an attached session */
extern char ocl_hook_thunks[], ocl_vendor_thunks[]; /* OCL_ENTRIES thunks each */
extern atomic_bool ocl_attached;                    /* false: hook thunks jump to the vendor */
extern struct gpubpf_calls ocl_inside;              /* calls of hook thunks */

/*
 * Replace the entries of the tables of all platforms whose libraries are loaded. again: also look at the libraries of
 * the last call.
 */
void ocl_tables_patch(bool again);
/* Restore the vendors' entries. Returns the number of entries that stay because another library replaced the thunk. */
uint32_t ocl_tables_restore(void);

#endif
#endif
