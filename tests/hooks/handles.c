/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the agent's records of runtime handles. A look-up finds the newest record of a handle. Look-ups and iterations
 * never return a removed record.
 */
#include "hooks/handles.h"
#include "tests/tap.h"

#define RECORDS 20000

static struct gpubpf_handles handles = GPUBPF_HANDLES_INIT;
static struct gpubpf_handle record[2][RECORDS];

static void *handle(int i)
{
	return (void *)(uintptr_t)(16 + 16 * i);
}

int main(void)
{
	bool newest = true, gone = true;

	for (int age = 0; age < 2; age++)
		for (int i = 0; i < RECORDS; i++) {
			record[age][i].handle = handle(i);
			gpubpf_handles_add(&handles, &record[age][i]);
		}
	for (int i = 0; i < RECORDS; i++)
		newest &= gpubpf_handles_find(&handles, handle(i)) == &record[1][i];
	ok(newest, "the newest record of a handle is found");
	ok(!gpubpf_handles_find(&handles, NULL), "no handle has no record");
	for (int i = 0; i < RECORDS; i++)
		record[0][i].handle = record[1][i].handle = NULL;
	for (int i = 0; i < RECORDS; i++)
		gone &= !gpubpf_handles_find(&handles, handle(i));
	ok(gone, "a dead record is not found");
	ok(!gpubpf_handles_find(&handles, NULL), "nor is it where there is no handle");
	return done();
}
