/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_LEX_H
#define GPUBPF_BACKENDS_CUDA_PTX_LEX_H

#include "ptx.h"

#define PTX_TEXT_MAX (512u << 20) /* largest size of a PTX text in bytes; the offsets of tokens have 32 bits */
#define PTX_DEPTH_MAX 256         /* nested blocks */

int ptx_lex(const char *text, size_t size, struct ptx_token **tokens, uint32_t *ntokens, struct gpubpf_diag *diag);

#endif
