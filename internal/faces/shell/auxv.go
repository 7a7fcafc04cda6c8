package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// auxNames are the names of the entries of the auxiliary vector, what they are, and whether they are addresses ('x'), numbers ('d')
// or addresses of strings ('s').
func auxName(key uint64) (name, what string, form byte) {
	names := [...]struct {
		key        uint64
		name, what string
		form       byte
	}{
		{2, "AT_EXECFD", "file of the program", 'd'}, {3, "AT_PHDR", "program headers of the program", 'x'}, {4, "AT_PHENT", "size of one", 'd'},
		{5, "AT_PHNUM", "how many", 'd'}, {6, "AT_PAGESZ", "size of a page", 'd'}, {7, "AT_BASE", "where the interpreter is", 'x'},
		{8, "AT_FLAGS", "flags", 'x'}, {9, "AT_ENTRY", "where the program begins", 'x'}, {10, "AT_NOTELF", "the program is no ELF file", 'd'},
		{11, "AT_UID", "real user", 'd'}, {12, "AT_EUID", "effective user", 'd'}, {13, "AT_GID", "real group", 'd'}, {14, "AT_EGID", "effective group", 'd'},
		{15, "AT_PLATFORM", "name of the platform", 's'}, {16, "AT_HWCAP", "abilities of the processor", 'x'}, {17, "AT_CLKTCK", "ticks of times() in a second", 'd'},
		{23, "AT_SECURE", "whether it got rights by its file", 'd'}, {24, "AT_BASE_PLATFORM", "name of the real platform", 's'}, {25, "AT_RANDOM", "16 random bytes", 'x'},
		{26, "AT_HWCAP2", "more abilities", 'x'}, {27, "AT_RSEQ_FEATURE_SIZE", "size of the rseq features", 'd'}, {28, "AT_RSEQ_ALIGN", "their alignment", 'd'},
		{31, "AT_EXECFN", "name that was executed", 's'}, {32, "AT_SYSINFO", "entry of system calls", 'x'}, {33, "AT_SYSINFO_EHDR", "the vDSO", 'x'},
		{40, "AT_L1I_CACHESIZE", "size of a cache", 'd'}, {42, "AT_L1D_CACHESIZE", "size of a cache", 'd'}, {44, "AT_L2_CACHESIZE", "size of a cache", 'd'},
		{46, "AT_L3_CACHESIZE", "size of a cache", 'd'}, {51, "AT_MINSIGSTKSZ", "least size of a signal's stack", 'd'},
	}
	for _, n := range names {
		if n.key == key {
			return n.name, n.what, n.form
		}
	}
	return "AT_" + strconv.FormatUint(key, 10), "", 'x'
}

// infoAuxv lists what the kernel told the process when it started.
func (sh *Shell) infoAuxv(ctx context.Context, _ string) error {
	has, ok := sh.s.Target().ProcessState().(interface{ Auxv() libstate.Auxv })
	if !ok || len(has.Auxv()) == 0 {
		return errors.New("the dump has no auxiliary vector")
	}
	var rows [][]string
	for _, e := range has.Auxv() {
		name, what, form := auxName(e.Key)
		value := fmt.Sprintf("%#x", e.Value)
		switch form {
		case 'd':
			value = strconv.FormatUint(e.Value, 10)
		case 's':
			if b, err := sh.s.ReadMemory(ctx, e.Value, maxString); err == nil {
				text, _, _ := cutZero(b)
				value += " " + strconv.Quote(report.Clean(text))
			}
		}
		rows = append(rows, []string{strconv.FormatUint(e.Key, 10), name, value, what})
	}
	return report.WriteColumns(sh.out, []string{"no", "name", "value", "what it is"}, rows)
}
