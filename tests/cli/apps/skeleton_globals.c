/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skeleton_globals RUNTIME-DIR WORKERS AGENT APPLICATION...: sets constants of the BPF object before the load, and runs
 * APPLICATION. Then it reads the global variables that the BPF programs wrote.
 */
#include "globals.skel.h"
#include "skeleton.h"

int main(int argc, char **argv)
{
	struct gpubpf_session_opts opts = skeleton_opts(argv);
	struct globals *obj = globals__open_opts(&opts);
	int status;

	if (!obj)
		return 1;
	printf("step %u most %llu of %u low %d on %d begun %u odd %u\n", obj->rodata->step, obj->rodata->limits.most, obj->rodata->limits.of[2],
	       obj->rodata->limits.low, obj->rodata->on, obj->data->begun, obj->data->odd[1]);
	obj->rodata->step = 7;
	obj->rodata->limits.most = 100;
	obj->rodata->limits.low = 33;
	obj->data->begun = 1000;
	obj->bss->sum = 1;
	if (globals__load(obj) < 0 || globals__attach(obj) < 0 || gpubpf_session__start(obj->session) < 0) {
		fprintf(stderr, "%s\n", gpubpf_session__error(obj->session));
		return 1;
	}
	printf("loaded %u %llu %u\n", obj->rodata->step, obj->bss->sum, obj->data->begun);
	status = argc > 4 ? skeleton_run(obj->session, argv + 4) : 1;
	if (globals__read(obj) < 0)
		return 1;
	printf("status %d sum %llu last %llu begun %u odd %u %u\n", status, obj->bss->sum, obj->bss->last[1][2], obj->data->begun, obj->data->odd[0],
	       obj->data->odd[1]);
	globals__destroy(obj);
	return 0;
}
