/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor loads and unloads a CUDA module, as a library of CUDA programs may. */
#pragma weak live_load_and_unload
void live_load_and_unload(void);

__attribute__((constructor)) static void load(void)
{
	if (live_load_and_unload)
		live_load_and_unload();
}
