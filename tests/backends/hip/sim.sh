#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sim.sh GFX COMMAND...: runs a test on a simulated AMD GPU, with the launcher that GPUBPF_AMD_SIM names.
[ -n "${GPUBPF_AMD_SIM:-}" ] || { echo '1..0 # SKIP GPUBPF_AMD_SIM names no simulator'; exit 0; }
exec "$GPUBPF_AMD_SIM" "$@"
