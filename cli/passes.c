/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the stages and passes of the compilation that --after accepts. */
#include "cli.h"

static const struct cli_pass passes[] = {
#define GPUBPF_PASS(name, stage, does) { name, does, GPUBPF_STAGE_##stage, false },
#include "core/model/passes.def"
#define GPUBPF_STAGE(id, name, label, does) { name, does, GPUBPF_STAGE_##id, true },
#include "core/model/stages.def"
};

const struct cli_pass *cli_pass_row(size_t i)
{
	return i < sizeof(passes) / sizeof(passes[0]) ? &passes[i] : NULL;
}

const char *cli_pass_at(size_t i)
{
	const struct cli_pass *pass = cli_pass_row(i);

	return pass ? pass->name : NULL;
}
