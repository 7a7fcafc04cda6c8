package cfi

import (
	"bufio"
	"debug/elf"
	"fmt"
	"github.com/corewalk/corewalk/internal/fixture"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// regNames are readelf's names for DWARF registers.
var regNames = map[elf.Machine][]string{
	elf.EM_X86_64:  strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip"),
	elf.EM_386:     strings.Fields("eax ecx edx ebx esp ebp esi edi eip"),
	elf.EM_AARCH64: slices.Concat(numbered("x", 0, 31), []string{"sp"}, make([]string, 32), numbered("v", 0, 32)),
	elf.EM_RISCV: strings.Fields("zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6 " +
		"ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11"),
	elf.EM_S390: append(numbered("r", 0, 16), strings.Fields("f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15")...),
}

func numbered(prefix string, from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, prefix+strconv.Itoa(i))
	}
	return names
}

// TestAgainstReadelf compares every row of every FDE with what readelf prints.
// COREWALK_CFI_ORACLE names more files to compare, separated by colons.
func TestAgainstReadelf(t *testing.T) {
	fixture.Tools(t)
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("readelf is not installed (Debian: binutils)")
	}
	files := []string{libcPath}
	if more := os.Getenv("COREWALK_CFI_ORACLE"); more != "" {
		files = append(files, strings.Split(more, ":")...)
	}
	for _, path := range files {
		t.Run(path, func(t *testing.T) {
			o := openOracle(t, path)
			cmd := exec.Command(readelf, "-wN", "--debug-dump=frames-interp", path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Skip(err)
			}
			o.compare(t, out)
			if err := cmd.Wait(); err != nil && !t.Failed() {
				t.Skip("readelf: ", err)
			}
			if o.rows == 0 {
				t.Skip("readelf printed no rows")
			}
			t.Logf("%d rows compared", o.rows)
		})
	}
}

// An oracle compares tables with readelf's output.
type oracle struct {
	names  []string
	tables map[string][]*Table // by section
	rows   int                 // compared so far

	section string
	columns []string
	pending []string // the last row read
}

func openOracle(t *testing.T, path string) *oracle {
	f, err := elf.Open(path)
	if err != nil {
		t.Skipf("needs %s: %v", path, err)
	}
	defer f.Close()
	o := &oracle{names: regNames[f.Machine], tables: map[string][]*Table{}}
	if o.names == nil {
		t.Skipf("no register names for %v", f.Machine)
	}
	section := func(name string) ([]byte, uint64) {
		s := f.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			return nil, 0
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		return data, s.Addr
	}
	cfg := Config{Big: f.Data == elf.ELFDATA2MSB, AddrSize: 4, AArch64: f.Machine == elf.EM_AARCH64}
	if f.Class == elf.ELFCLASS64 {
		cfg.AddrSize = 8
	}
	if data, addr := section(".eh_frame"); data != nil {
		o.tables[".eh_frame"] = append(o.tables[".eh_frame"], EHFrame(data, addr, nil, 0, cfg))
		if hdr, hdrAddr := section(".eh_frame_hdr"); hdr != nil {
			withHdr := EHFrame(data, addr, hdr, hdrAddr, cfg)
			if withHdr.HeaderErr() != nil {
				t.Error(withHdr.HeaderErr())
			}
			o.tables[".eh_frame"] = append(o.tables[".eh_frame"], withHdr)
		}
	}
	if data, _ := section(".debug_frame"); data != nil {
		o.tables[".debug_frame"] = []*Table{DebugFrame(data, cfg)}
	}
	return o
}

func (o *oracle) compare(t *testing.T, out io.Reader) {
	defer io.Copy(io.Discard, out)
	inFDE := false
	lines := bufio.NewScanner(out)
	for lines.Scan() && !t.Failed() {
		f := strings.Fields(strings.NewReplacer(" (", "(").Replace(lines.Text()))
		switch {
		case len(f) == 0:
			o.flush(t, 0)
			inFDE = false
		case f[0] == "Contents":
			o.section = f[3]
		case len(f) > 3 && f[3] == "FDE":
			inFDE = true
		case f[0] == "LOC":
			o.columns = f
		case inFDE:
			loc, _ := strconv.ParseUint(f[0], 16, 64)
			o.flush(t, loc)
			o.pending = f
		}
	}
}

// flush compares the pending row. readelf prints a row for each location; of several at one
// address, only the last applies.
func (o *oracle) flush(t *testing.T, next uint64) {
	f := o.pending
	o.pending = nil
	if f == nil || len(f) != len(o.columns) {
		return
	}
	loc, _ := strconv.ParseUint(f[0], 16, 64)
	if loc == next || loc == 0 { // 0: a function that the linker dropped
		return
	}
	var row Row
	for _, table := range o.tables[o.section] {
		if err := table.Row(loc, &row); err != nil {
			t.Errorf("row at %#x: %v", loc, err)
			return
		}
		if got, want := o.print(&row), strings.Join(f[1:], " "); got != want || row.Start != loc {
			t.Errorf("row at %#x, starting at %#x: %v is %q, want %q", loc, row.Start, o.columns, got, want)
		}
		o.rows++
	}
}

func (o *oracle) name(n uint64) string {
	if n < uint64(len(o.names)) {
		return o.names[n]
	}
	return fmt.Sprintf("r%d", n)
}

// print formats a row as readelf does, which also prints u for unspecified.
func (o *oracle) print(row *Row) string {
	cells := []string{"exp"}
	if cfa := row.CFA(); cfa.Kind == Register {
		cells[0] = fmt.Sprintf("%s%+d", o.name(cfa.Reg), cfa.Offset)
	}
	for _, col := range o.columns[2:] {
		reg := row.RetAddrReg
		if i := slices.Index(o.names, col); i >= 0 {
			reg = uint64(i)
		} else if n, err := strconv.Atoi(strings.TrimPrefix(col, "r")); err == nil {
			reg = uint64(n)
		}
		switch rule := row.Rule(reg); rule.Kind {
		case Offset:
			cells = append(cells, fmt.Sprintf("c%+d", rule.Offset))
		case ValOffset:
			cells = append(cells, fmt.Sprintf("v%+d", rule.Offset))
		case Register:
			cells = append(cells, fmt.Sprintf("r%d(%s)", rule.Reg, o.name(rule.Reg)))
		case Expression:
			cells = append(cells, "exp")
		case ValExpression:
			cells = append(cells, "vexp")
		case SameValue:
			cells = append(cells, "s")
		default:
			cells = append(cells, "u")
		}
	}
	return strings.Join(cells, " ")
}
