/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the OpenCL C module: the device library's text, the sites' programs, the sites, and kernels that run the sites.
 */
#include "opencl_c.h"

#include <errno.h>
#include <stdio.h>

#include "text.h"
#include "core/model/diag.h"
#include "maps/device/text.h"

/* Emits the macros by which the device library (maps/device/devlib.h) adapts to the device's capabilities. */
static void emit_switches(struct text *t, const struct gpubpf_device_caps *caps)
{
	static const char *const clock[] = {
		[GPUBPF_CLOCK_TSC] = "TSC",
		[GPUBPF_CLOCK_KHR] = "KHR",
		[GPUBPF_CLOCK_GLOBALTIMER] = "GLOBALTIMER",
	};

	if (caps->bits & GPUBPF_CAP_SUBGROUPS)
		text_add(t, "#define GPUBPF_SUBGROUPS 1\n");
	if (caps->bits & GPUBPF_CAP_NVPTX_ASM)
		text_add(t, "#define GPUBPF_NVPTX_ASM 1\n");
	if (caps->bits & GPUBPF_CAP_X86)
		text_add(t, "#define GPUBPF_X86 1\n");
	if (caps->clock < sizeof(clock) / sizeof(clock[0]) && clock[caps->clock])
		text_add(t, "#define GPUBPF_CLOCK_%s 1\n", clock[caps->clock]);
}

static void emit_prelude(struct text *t, const struct gpubpf_lower_job *job)
{
	emit_switches(t, job->caps);
	text_add(t, "%s\n%s\n", gpubpf_device_text, gpubpf_clc_prelude);
	clc_maps(t, job);
	if (!job->checked)
		return;
	text_add(t, "#define GPUBPF_RUN_STATUS %zu\n#define GPUBPF_RUN_PC %zu\n#define GPUBPF_RUN_ADDRESS %zu\n",
		 offsetof(struct gpubpf_run, status), offsetof(struct gpubpf_run, pc),
		 offsetof(struct gpubpf_run, address));
	text_add(t, "%s\n", gpubpf_clc_checked);
}

static void store_r0(const struct clc *c, uint64_t run, const char *env, const char *r0)
{
	text_add(c->t, "\tGPUBPF_GLOB(gpubpf_w8a8, %sarena + %lluUL) = %s;\n", env,
		 (unsigned long long)(run + offsetof(struct gpubpf_run, r0)), r0);
}

/*
 * Emits a site's function. The function runs the site's programs in order, and returns 1 at once if a program ends the
 * thread.
 */
static void emit_site_function(struct clc *c, bool one_kernel)
{
	struct text *t = c->t;

	text_add(t, "%sstatic s32 gpubpf_body_%u(GPUBPF_ENV, GPUBPF_PRIVATE u64 *r0)\n{\n\ts32 ended = 0;\n\n",
		 one_kernel ? "__attribute__((noinline)) " : "", c->site);
	for (uint32_t i = 0; i < c->desc->nprogs; i++) {
		text_add(t, "\t*r0 = gpubpf_s%u_p%u(env, &ended);\n", c->site, i);
		if (c->job->run_in_maps)
			store_r0(c, gpubpf_lower_run(c->job, c->desc->progs[i]), "env->", "*r0");
		if (i + 1 < c->desc->nprogs)
			text_add(t, "\tif (ended)\n\t\treturn 1;\n");
	}
	text_add(t, "\treturn ended;\n}\n\n");
	if (one_kernel)
		return;
	text_add(t,
		 "s32 gpubpf_site_%u(GPUBPF_PRIVATE const struct gpubpf_env *env);\n"
		 "s32 gpubpf_site_%u(GPUBPF_PRIVATE const struct gpubpf_env *env)\n"
		 "{\n\tu64 r0;\n\n\treturn GPUBPF_NO_LANE ? 0 : gpubpf_body_%u(env, &r0);\n}\n\n",
		 c->site, c->site, c->site);
}

/* Emits the beginning of a kernel up to the call of its site. `how` has attributes; `more` has further parameters. */
static void begin_kernel(const struct clc *c, const char *how, const char *name, const char *more)
{
	text_add(c->t,
		 "__kernel %svoid gpubpf_run%s(__global uchar *gpubpf_arena, ulong gpubpf_launch, ulong gpubpf_pid%s)\n"
		 "{\n\tstruct gpubpf_env env;\n\tu64 r0 = 0;\n\n"
		 "\tfor (u32 i = 0; i < GPUBPF_ENV_ARGS; i++)\n\t\tenv.arg[i] = 0;\n"
		 "\tenv.arena = (u64)gpubpf_arena;\n\tenv.launch = gpubpf_launch;\n\tenv.pid_tgid = gpubpf_pid;\n"
		 "\tenv.kernel_id = %lluUL;\n\tenv.device = %u;\n\tenv.flags = 0;\n\tenv.arg_bytes = 0;\n",
		 how, name, more, (unsigned long long)c->desc->kernel_id, c->job->caps->ordinal);
}

static void end_kernel(const struct clc *c)
{
	if (c->job->run_off)
		store_r0(c, c->job->run_off, "env.", "r0");
	text_add(c->t, "}\n\n");
}

static void run_kernel(const struct clc *c)
{
	char number[16];

	snprintf(number, sizeof(number), "_%u", c->site);
	begin_kernel(c, "", number, "");
	text_add(c->t, "\tgpubpf_body_%u(&env, &r0);\n", c->site);
	end_kernel(c);
}

static void emit_one_kernel(const struct clc *c)
{
	begin_kernel(c, "__attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(int4))) ", "", ", uint gpubpf_site");
	text_add(c->t, "\tswitch (gpubpf_site) {\n");
	for (uint32_t i = 0; i < c->job->nsites; i++)
		text_add(c->t, "\tcase %u:\n\t\tgpubpf_body_%u(&env, &r0);\n\t\tbreak;\n", i, i);
	text_add(c->t, "\t}\n");
	end_kernel(c);
}

static int emit_site(struct clc *c, bool one_kernel)
{
	for (c->prog_nth = 0; c->prog_nth < c->desc->nprogs; c->prog_nth++) {
		int err;

		c->prog = &c->job->unit->progs[c->desc->progs[c->prog_nth]];
		text_add(c->t, "/* site %u, %s: program %u */\n", c->site, gpubpf_place_kind(c->desc->site)->name,
			 c->desc->progs[c->prog_nth]);
		err = c->job->checked ? clc_checked_program(c) : clc_program(c);
		if (err < 0) {
			gpubpf_diag_where(c->diag, "%s", c->prog->name);
			return err;
		}
	}
	emit_site_function(c, one_kernel);
	return 0;
}

int gpubpf_clc_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag)
{
	struct text t = { 0 };
	struct clc c = { .job = job, .t = &t, .diag = diag };
	int err = 0;

	emit_prelude(&t, job);
	for (c.site = 0; c.site < job->nsites && !err; c.site++) {
		c.desc = &job->sites[c.site];
		err = emit_site(&c, opts->one_kernel);
		if (!err && opts->kernels)
			run_kernel(&c);
	}
	if (!err && opts->one_kernel)
		emit_one_kernel(&c);
	if (!err && t.failed)
		err = -ENOMEM;
	if (err < 0) {
		text_finish(&t);
		return err;
	}
	out->data = t.data;
	out->size = t.len;
	return 0;
}
