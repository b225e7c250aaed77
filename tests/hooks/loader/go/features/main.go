// SPDX-License-Identifier: Apache-2.0

// Prints one line for each feature of the Linux kernel that cilium/ebpf detects, with its conclusion.
package main

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
)

func main() {
	for t := ebpf.Hash; t <= ebpf.TaskStorage; t++ {
		fmt.Println("map", t, features.HaveMapType(t))
	}
	for t := ebpf.SocketFilter; t <= ebpf.Syscall; t++ {
		fmt.Println("program", t, features.HaveProgramType(t))
	}
	for _, f := range []asm.BuiltinFunc{asm.FnMapLookupElem, asm.FnGetCurrentComm, asm.FnRingbufReserve, asm.FnLoop} {
		fmt.Println("helper", f, features.HaveProgramHelper(ebpf.Kprobe, f), features.HaveProgramHelper(ebpf.SocketFilter, f))
	}
	fmt.Println("long programs", features.HaveLargeInstructions(), "loops", features.HaveBoundedLoops(), "v2", features.HaveV2ISA(),
		"v3", features.HaveV3ISA())
}
