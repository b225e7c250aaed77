/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/cuda/ptx/analysis/access.c backends/cuda/ptx/analysis/control.c backends/cuda/ptx/analysis/params.c
// SOURCES: backends/cuda/ptx/analysis/places.c backends/cuda/ptx/ir/lex.c backends/cuda/ptx/ir/parse.c
// SOURCES: backends/cuda/ptx/ir/print.c backends/cuda/ptx/ir/scope.c backends/cuda/ptx/ir/symbols.c
// SOURCES: backends/cuda/ptx/ir/version.c backends/cuda/ptx/passes/accumulators.c backends/cuda/ptx/passes/active_mask.c
// SOURCES: backends/cuda/ptx/passes/block_probes.c backends/cuda/ptx/passes/closure.c backends/cuda/ptx/passes/edit.c
// SOURCES: backends/cuda/ptx/passes/edit_function.c backends/cuda/ptx/passes/header.c backends/cuda/ptx/passes/insn_probe.c
// SOURCES: backends/cuda/ptx/passes/operands_control.c backends/cuda/ptx/passes/operands_memory.c
// SOURCES: backends/cuda/ptx/passes/operands_named.c backends/cuda/ptx/passes/place_probes.c
// SOURCES: backends/cuda/ptx/passes/reconverge.c backends/cuda/ptx/passes/register.c backends/cuda/ptx/passes/result.c
// SOURCES: backends/cuda/ptx/passes/sink_probes.c backends/cuda/ptx/passes/slice.c backends/cuda/ptx/passes/splice.c
// SOURCES: core/lower/ctx.c core/model/places.c core/model/text/nearest.c core/target.c backends/registry.c core/wire/name.c core/wire/match.c
// SOURCES: core/wire/glob.c core/model/diag.c
/*
 * Parses arbitrary bytes as PTX. The parser must refuse them with a diagnostic, or the printer must reproduce them.
 * Then each kernel must give a twin or a reason, both from the whole module and from the part that the kernel needs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/ptx/passes/splice.h"
#include "backends/cuda/ptx/analysis/params.h"
#include "backends/cuda/ptx/passes/slice.h"
#include "backends/cuda/ptx/analysis/places.h"
#include "core/model/diag.h"
#include "core/target.h"
#include "core/wire/name.h"

#define KERNELS 4 /* limit of kernels per input, which keeps a run short */
#define PLACES 128 /* probed places per kernel */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_again(const struct ptx_module *m)
{
	size_t size;
	char *text;

	if (ptx_print(m, NULL, 0, &text, &size) < 0 || size != m->size || memcmp(text, m->text, size))
		abort();
	free(text);
}

static void make_twin(const struct ptx_module *m, uint32_t kernel)
{
	char body[] = "mov.u32 %r, 1;", name[256];
	struct cuda_probe probes[GPUBPF_NSITES]; /* a probe for each kind of place */
	struct gpubpf_site_desc sites[GPUBPF_NSITES] = { { 0 } };
	struct gpubpf_insertion insertions[PLACES];
	struct gpubpf_lower_job job = { .sites = sites, .nsites = GPUBPF_NSITES, .insertions = insertions };
	uint32_t len = m->tokens[m->nodes[kernel].name].len, n;
	struct gpubpf_param *params;
	struct ptx_place *places;
	struct gpubpf_diag diag;
	struct cuda_twin twin;
	bool blocks = m->ntokens & 2; /* true for some inputs: the probes may synchronise the lanes of a block */

	if (len >= sizeof(name) || ptx_child(m, kernel, PTX_BLOCK, 0) == PTX_NONE)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)len, ptx_token_text(m, m->nodes[kernel].name));
	if (!cuda_params(m, kernel, &params, &n))
		free(params);
	for (uint32_t i = 0; i < GPUBPF_NSITES; i++) {
		probes[i] = (struct cuda_probe){ .body = body, .body_size = sizeof(body) - 1, .reads = UINT64_MAX,
						  .adds_alone = m->ntokens & 1 };
		sites[i].site = !blocks || i == GPUBPF_SITE_BLOCK_BEGIN || i == GPUBPF_SITE_BLOCK_END ? i : GPUBPF_SITE_ENTRY;
		memcpy(sites[i].kernel, name, sizeof(name));
	}
	if (ptx_places(m, kernel, UINT32_MAX, &places, &n) < 0)
		abort();
	for (uint32_t i = 0; i < n && job.ninsertions < PLACES; i++)
		if (sites[places[i].kind].site == places[i].kind)
			insertions[job.ninsertions++] = (struct gpubpf_insertion){
				.place = { .kind = places[i].kind, .function = "", .id = places[i].id },
				.site = places[i].kind };
	free(places);
	gpubpf_diag_init(&diag);
	if (!cuda_inject(m, &job, &(struct cuda_probes){ probes, probes, "", 0, 700 }, &twin, &diag))
		cuda_twin_finish(&twin);
	else if (!diag.what[0])
		abort();
}

static void make_part(const struct ptx_top *top, uint32_t kernel)
{
	const struct ptx_token *token = &top->module->tokens[top->module->nodes[kernel].name];
	struct ptx_module part;
	char name[256], *text;

	gpubpf_name_short(top->module->text + token->off, token->len, name);
	if (ptx_slice(top, name, &text, &part) < 0)
		return;
	for (uint32_t c = part.nodes[0].child; c != PTX_NONE; c = part.nodes[c].next)
		if (part.nodes[c].kind == PTX_FUNCTION && ptx_token_named(&part, part.nodes[c].name, name)) {
			make_twin(&part, c);
			break;
		}
	ptx_finish(&part);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t kernels = 0;
	struct gpubpf_diag diag;
	struct ptx_module m;
	struct ptx_top top;

	gpubpf_diag_init(&diag);
	if (ptx_parse((const char *)data, size, &m, &diag) < 0) {
		if (!diag.what[0])
			abort();
		return 0;
	}
	print_again(&m);
	if (ptx_top_init(&top, &m) < 0)
		abort();
	for (uint32_t c = m.nodes[0].child; c != PTX_NONE && kernels < KERNELS; c = m.nodes[c].next)
		if (m.nodes[c].kind == PTX_FUNCTION && m.nodes[c].entry) {
			make_twin(&m, c);
			make_part(&top, c);
			kernels++;
		}
	ptx_top_finish(&top);
	ptx_finish(&m);
	return 0;
}
