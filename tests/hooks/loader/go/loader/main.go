// SPDX-License-Identifier: Apache-2.0

// A loader in Go, with cilium/ebpf: loader OBJECT RECORDS COMMAND. It attaches OBJECT's programs for kernels
// (rings.bpf.c), runs COMMAND, and reads RECORDS records of a ring buffer and of perf buffers. Then it prints the
// programs' counts.
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/perf"
	"github.com/cilium/ebpf/ringbuf"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// sums reads the requested number of records, and sends the sum of their numbers.
func sums(records uint64, read func() ([]byte, error)) <-chan uint64 {
	sum := make(chan uint64)
	go func() {
		var all uint64
		for i := uint64(0); i < records; i++ {
			sample, err := read()
			check(err)
			all += binary.LittleEndian.Uint64(sample)
		}
		sum <- all
	}()
	return sum
}

func attach(coll *ebpf.Collection) {
	enter, err := link.Kprobe("cuda__step_one", coll.Programs["cuda__enter"], nil)
	check(err)
	leave, err := link.Kretprobe("cuda__step_one", coll.Programs["cuda__leave"], nil)
	check(err)
	_, _ = enter, leave // the links exist as long as this process
}

func main() {
	records, err := strconv.ParseUint(os.Args[2], 10, 64)
	check(err)
	coll, err := ebpf.LoadCollection(os.Args[1])
	check(err)
	rings, err := ringbuf.NewReader(coll.Maps["ring"])
	check(err)
	buffers, err := perf.NewReader(coll.Maps["perf"], 64*os.Getpagesize())
	check(err)
	attach(coll)
	ring := sums(records, func() ([]byte, error) { r, err := rings.Read(); return r.RawSample, err })
	buffer := sums(records, func() ([]byte, error) { r, err := buffers.Read(); return r.RawSample, err })
	words := strings.Fields(os.Args[3])
	command := exec.Command(words[0], words[1:]...)
	command.Stdout = os.Stderr
	_ = command.Run() // whatever its status is
	for i := 0; i < 2; i++ {
		select {
		case sum := <-ring:
			fmt.Println("ring", sum)
		case sum := <-buffer:
			fmt.Println("perf", sum)
		case <-time.After(60 * time.Second):
			log.Fatal("not all records have come")
		}
	}
	numbers := make([]byte, 16)
	check(coll.Maps[".bss"].Lookup(uint32(0), &numbers))
	fmt.Println("counted", binary.LittleEndian.Uint64(numbers), binary.LittleEndian.Uint64(numbers[8:]))
	info, err := coll.Programs["cuda__enter"].Info()
	check(err)
	id, _ := info.ID()
	again, err := ebpf.NewProgramFromID(id)
	check(err)
	fmt.Println("is", again.String()[:4], coll.Maps["ring"].Type())
}
