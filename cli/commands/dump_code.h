/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that `prog dump` and `kernel dump` share: they choose a device, verify programs, check names of passes, and
 * print code.
 */
#ifndef GPUBPF_CLI_DUMP_CODE_H
#define GPUBPF_CLI_DUMP_CODE_H

#include "cli/cli.h"
#include "core/target.h"
#include "maps/maps.h"

/* Return a fictitious device that has all capabilities, so that no program is refused for a missing capability. */
struct gpubpf_device_caps cli_dump_device(const char *cpu);
/*
 * Verify the unit's programs and lay out their maps. The caller finishes the layout. Returns 0, or -errno with a
 * diagnostic.
 */
int cli_dump_prepare(struct gpubpf_unit *unit, const struct gpubpf_device_caps *caps, struct gpubpf_layout *layout,
		     struct gpubpf_diag *diag);
/* Free the facts that cli_dump_prepare() stored in the unit's programs. */
void cli_dump_release(struct gpubpf_unit *unit);
/*
 * Check a value of --after. `stages` is the set (GPUBPF_STAGE_BIT) of permitted stages; their passes are permitted too.
 * Returns CLI_OK, or CLI_USAGE after printing the error with all names. For "help", prints the names of the stages in
 * `listed` and returns -1.
 */
int cli_dump_check_pass(const char *name, uint32_t stages, uint32_t listed);
/* Print code. Text is printed unchanged, a binary as hexadecimal words with one instruction per line. */
void cli_dump_print(const struct gpubpf_blob *code, FILE *out);

#endif
