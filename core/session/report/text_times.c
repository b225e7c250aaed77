/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the notes below a map with times: who measured the times, and how much the programs cost. */
#include "launch_times.h"

#include "kernel_table.h"

#define MAX_FACTOR 1.05 /* the report warns of programs that make launches longer than this */

void gpubpf_launch_times_text(const struct gpubpf_session *s, FILE *out)
{
	uint64_t lost, measured = gpubpf_launch_times_count(s, &lost);

	if (measured)
		fprintf(out, "  times of %llu launches are from the runtime (OpenCL profiling), without programs\n",
			(unsigned long long)measured);
	if (lost)
		fprintf(out, "  %llu launches are missing: the runtime did not report their times\n",
			(unsigned long long)lost);
}

void gpubpf_launch_factor_text(const struct gpubpf_session *s, bool receives_times, FILE *out)
{
	uint64_t unprobed, lost;
	double factor = gpubpf_kernel_table_factor(s, &unprobed);
	bool from_runtime = receives_times && gpubpf_launch_times_count(s, &lost);

	if (factor > 0)
		fprintf(out, "  probed launches take %.2f times as long as unprobed ones (%llu measured)\n", factor,
			(unsigned long long)unprobed);
	if (factor > MAX_FACTOR)
		fprintf(out, "  warning: the programs cost more than 5 %%, and the times include this cost\n");
	if (!(factor > 0) && !from_runtime)
		fprintf(out, "  times of probed launches; the factor against unprobed launches is not known, because none "
			     "was measured (use --sample N)\n");
}
