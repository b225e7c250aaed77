/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros that the cases share. A line that branches or diverges states its expectation after //=, for lane i of the
 * launch, lane l of its group, group g and wave w of the group. `on` gives the active lanes (default all), `taken`
 * the lanes that take the branch. `turns` is the maximum number of executions, t the number of one execution.
 */
#if defined(__gfx90a__) || defined(__gfx942__)
#define MASK(name) name "_b64"
#define REG(first, pair) pair
#define EXEC "exec"
#define VCC "vcc"
#define ANDN2 "s_andn2_b64"
#define CMPX(cmp, a, b) "v_cmpx_" cmp " vcc, " a ", " b "\n"
#else
#define MASK(name) name "_b32"
#define REG(first, pair) first
#define EXEC "exec_lo"
#define VCC "vcc_lo"
#define ANDN2 "s_and_not1_b32"
#define CMPX(cmp, a, b) "v_cmpx_" cmp " " a ", " b "\n"
#endif
#define SETTLE "s_nop 4\n"
