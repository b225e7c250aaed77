/* SPDX-License-Identifier: Apache-2.0 */
/* Installs the session's support for loaders. core/session/base/loader_support.h describes the functions. */
#ifndef GPUBPF_SESSION_LOADERS_H
#define GPUBPF_SESSION_LOADERS_H

#include "core/session/base/loader_support.h"

extern const struct gpubpf_support_ops gpubpf_loader_support;

#endif
