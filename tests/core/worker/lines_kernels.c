/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for lines.py. A comment lists the places that machine code has on its line, as TARGET KERNEL PLACE ID. */
#ifdef __AMDGCN__
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))
#define me() __builtin_amdgcn_workitem_id_x()
#else
#define KERNEL __attribute__((nvptx_kernel))
#define me() __nvvm_read_ptx_sreg_tid_x()
#endif
#define GLOBAL __attribute__((address_space(1)))

static int thrice(int x)
{
	return x * 3;
}

KERNEL void leaves(int GLOBAL *p, int n)
{ /* sass leaves entry 0 */
	int i = me(); /* amdgpu leaves entry 0; by n and by p, which are arguments: amdgpu leaves mem 0, amdgpu leaves mem 1 */

	if (i >= n) /* sass leaves exit 0 */
		return;
	p[i] = thrice(p[i]); /* amdgpu leaves mem 2, amdgpu leaves mem 3, sass leaves mem 0, sass leaves mem 1 */
} /* amdgpu leaves exit 0, sass leaves exit 1 */

KERNEL void stores(int GLOBAL *p)
{ /* sass stores entry 0 */
	p[me()] = 1; /* amdgpu stores entry 0; by p and by its word: amdgpu stores mem 0, amdgpu stores mem 1, sass stores mem 0 */
} /* amdgpu stores exit 0, sass stores exit 0 */
