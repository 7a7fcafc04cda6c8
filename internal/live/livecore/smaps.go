package livecore

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// An area is a mapping of the process, as in /proc/PID/smaps.
type area struct {
	start, end, offset uint64
	perms              string // "rw-p"
	inode              uint64
	name               string // of the file, or "[heap]" and the like
	resident           uint64 // bytes in memory or swapped out
	anonymous          uint64 // of these, bytes that belong to no file
	swapped            uint64 // bytes
	flags              string // VmFlags, with a space before and after each flag
}

// maxAreas is how many mappings are read at most.
const maxAreas = 1 << 20

func readAreas(pid int) ([]area, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseAreas(f)
}

func parseAreas(r io.Reader) ([]area, error) {
	var out []area
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return out, err
		}
		if a, ok := parseArea(line); ok {
			if len(out) >= maxAreas {
				return out, fmt.Errorf("more than %d mappings", maxAreas)
			}
			out = append(out, a)
		} else if len(out) > 0 {
			out[len(out)-1].attribute(line)
		}
		if err == io.EOF {
			return out, nil
		}
	}
}

// parseArea reads a line as in /proc/PID/maps: start-end perms offset device inode name.
func parseArea(line []byte) (a area, ok bool) {
	f := bytes.SplitN(bytes.TrimRight(line, "\n"), []byte{' '}, 6)
	if len(f) < 5 {
		return a, false
	}
	lo, hi, found := bytes.Cut(f[0], []byte{'-'})
	var err [4]error
	a.start, err[0] = strconv.ParseUint(string(lo), 16, 64)
	a.end, err[1] = strconv.ParseUint(string(hi), 16, 64)
	a.offset, err[2] = strconv.ParseUint(string(f[2]), 16, 64)
	a.inode, err[3] = strconv.ParseUint(string(f[4]), 10, 64)
	a.perms = string(f[1])
	for _, e := range err {
		found = found && e == nil
	}
	if !found || a.end <= a.start || len(a.perms) != 4 {
		return a, false
	}
	if len(f) == 6 {
		// The kernel escapes newlines only.
		a.name = strings.ReplaceAll(string(bytes.TrimLeft(f[5], " ")), `\012`, "\n")
	}
	return a, true
}

// attribute reads one of the lines that follow a mapping's first line.
func (a *area) attribute(line []byte) {
	key, value, _ := strings.Cut(strings.TrimRight(string(line), "\n"), ":")
	switch key {
	case "VmFlags":
		a.flags = " " + strings.TrimSpace(value) + " "
	case "Rss", "Swap", "Anonymous":
		kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 44)
		if err != nil {
			return
		}
		switch key {
		case "Rss":
			a.resident += kb << 10
		case "Swap":
			a.resident += kb << 10
			a.swapped = kb << 10
		case "Anonymous":
			a.anonymous = kb << 10
		}
	}
}

func (a *area) flag(f string) bool { return strings.Contains(a.flags, " "+f+" ") }
func (a *area) shared() bool       { return a.perms[3] == 's' }
func (a *area) file() bool         { return strings.HasPrefix(a.name, "/") && a.inode != 0 }

// Bits of /proc/PID/coredump_filter (core(5)), and the default.
const (
	dumpAnonPrivate   = 1 << 0
	dumpAnonShared    = 1 << 1
	dumpMappedPrivate = 1 << 2
	dumpMappedShared  = 1 << 3
	dumpELFHeaders    = 1 << 4
	dumpHugePrivate   = 1 << 5
	dumpHugeShared    = 1 << 6

	defaultFilter = dumpAnonPrivate | dumpAnonShared | dumpELFHeaders | dumpHugePrivate
)

func readFilter(pid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/coredump_filter", pid))
	if err != nil {
		return defaultFilter
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 16, 64)
	if err != nil {
		return defaultFilter
	}
	return v
}

// A portion is how much of a mapping a core includes.
type portion int

const (
	nothing portion = iota
	header          // the first page, if it is an ELF header
	whole
)

// dumped decides like the kernel (vma_dump_size in fs/coredump.c), as far as that can be seen from outside: a
// private mapping has its own pages if some are in memory or swapped out.
func (a *area) dumped(filter uint64) portion {
	on := func(bit uint64, p portion) portion {
		if filter&bit != 0 {
			return p
		}
		return nothing
	}
	switch {
	case a.name == "[vdso]" || a.name == "[vsyscall]":
		return whole
	case a.flag("dd") || a.flag("io"):
		return nothing
	case a.flag("ht") && a.shared():
		return on(dumpHugeShared, whole)
	case a.flag("ht"):
		return on(dumpHugePrivate, whole)
	case a.shared() && (!a.file() || strings.HasSuffix(a.name, " (deleted)")):
		return on(dumpAnonShared, whole)
	case a.shared():
		return on(dumpMappedShared, whole)
	case a.anonymous+a.swapped > 0 && filter&dumpAnonPrivate != 0:
		return whole
	case !a.file():
		return nothing
	case filter&dumpMappedPrivate != 0:
		return whole
	case a.offset == 0 && a.perms[0] == 'r':
		return on(dumpELFHeaders, header)
	}
	return nothing
}
