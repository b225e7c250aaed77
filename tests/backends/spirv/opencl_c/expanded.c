/* SPDX-License-Identifier: Apache-2.0 */
/* wrap-expanded FILE: prints an OpenCL C source as the reader sees it: each macro that hides a place is expanded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/opencl_c/read/read.h"
#include "core/model/diag.h"
#include "core/target.h"

int main(int argc, char **argv)
{
	struct gpubpf_device_caps caps = { .name = "pthread", .driver = "5.0", .extensions = "", .opencl_c_version = 120 };
	struct gpubpf_cl_source source = { .options = "", .cwd = "", .places = GPUBPF_SITE_BIT(MEM_ALL) };
	struct gpubpf_cl_unit unit;
	struct gpubpf_pool pool = { 0 };
	struct gpubpf_diag diag;
	static char text[1 << 20];
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;

	if (!f)
		return 2;
	source.size = fread(text, 1, sizeof(text) - 1, f);
	source.text = text;
	fclose(f);
	gpubpf_diag_init(&diag);
	if (gpubpf_cl_read(&source, &caps, &pool, &unit, &diag) < 0 || unit.error) {
		fprintf(stderr, "%s%s\n", diag.what, unit.error ? unit.error : "");
		return 1;
	}
	fwrite(source.text, 1, source.size, stdout);
	gpubpf_pool_finish(&pool);
	return 0;
}
