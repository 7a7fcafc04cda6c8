package corestate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

var (
	manifestException = regexp.MustCompile(`^exc (0x[0-9a-f]+) at (0x[0-9a-f]+)`)
	manifestModules   = regexp.MustCompile(`(\d+) modules`)
	manifestFrame     = regexp.MustCompile(`walk without modules: ([^>]+?)\+0x([0-9a-f]+)`)
)

// archNames are the manifest's names of architectures.
var archNames = map[string]string{"x86-64": "x86_64", "mipsel": "mips", "processor 0xffff": "", "unknown": ""}

// TestCorpusMinidumps opens the minidumps of other projects' test suites, and compares
// what is in them with what is known of them.
func TestCorpusMinidumps(t *testing.T) {
	seen := map[string]int{}
	for _, d := range corpus(t) {
		if d.kind != "minidump" && d.kind != "microdump" {
			continue
		}
		seen[d.kind]++
		t.Run(d.name, func(t *testing.T) { checkMinidump(t, d) })
	}
	if seen["minidump"] == 0 || seen["microdump"] == 0 {
		t.Errorf("dumps seen: %v", seen)
	}
}

func checkMinidump(t *testing.T, d dump) {
	m, err := OpenMinidumpBytes(d.name, d.data)
	if m == nil {
		if d.arch != "" || err == nil {
			t.Error(err)
		}
		return
	}
	useMinidump(m)
	ids, _ := m.ThreadIDs()
	want, _ := strconv.Atoi(d.threads)
	if len(ids) != want {
		t.Errorf("threads %v, want %d", ids, want)
	}
	if (err != nil) != (want == 0) {
		t.Errorf("error %v with %d threads", err, want)
	}
	name := m.ArchName()
	if n, ok := archNames[name]; ok {
		name = n
	}
	if name != d.arch || m.OS() != d.os {
		t.Errorf("%s of %s, want %s of %s", m.OS(), name, d.os, d.arch)
	}
	if c := manifestModules.FindStringSubmatch(d.note); c != nil && d.arch != "" && c[1] != strconv.Itoa(len(m.file.Modules)) {
		t.Errorf("%d modules, want %s", len(m.file.Modules), c[1])
	}
	e, crashed := m.Exception()
	got := ""
	if crashed {
		got = fmt.Sprintf("exc %#x at %#x", e.Code, m.file.Exception.Address)
	}
	if want := manifestException.FindString(d.signal); got != want {
		t.Errorf("exception %q, want %q", got, want)
	}
	checkFirstFrame(t, d, m, ids)
}

// checkFirstFrame compares the program counter with the first frame that is known.
func checkFirstFrame(t *testing.T, d dump, m *Minidump, ids []unwind.ThreadID) {
	frame := manifestFrame.FindStringSubmatch(d.check)
	if frame == nil {
		return
	}
	table, _ := m.BuildLibraries(nil)
	regs, err := m.Registers(ids[0])
	if err != nil {
		t.Error(err)
		return
	}
	pc, _ := regs.Get(m.Arch().PC)
	off, _ := strconv.ParseUint(frame[2], 16, 64)
	lib, ok := table.LibraryAt(pc)
	if !ok {
		t.Errorf("pc %#x is in no library, want %s+%#x", pc, frame[1], off)
		return
	}
	base := lib.Path[strings.LastIndexAny(lib.Path, `/\`)+1:]
	if base != frame[1] || pc|1 != (lib.Start+off)|1 {
		t.Errorf("pc %#x is %s+%#x, want %s+%#x", pc, base, pc-lib.Start, frame[1], off)
	}
	sp, _ := regs.Get(m.Arch().SP)
	if _, err := m.ReadWord(sp); err != nil {
		t.Errorf("stack at %#x: %v", sp, err)
	}
}

// useMinidump asks everything of a dump.
func useMinidump(m *Minidump) {
	table, _ := m.BuildLibraries(nil)
	ids, _ := m.ThreadIDs()
	m.DefaultThread()
	for _, id := range append(ids, unwind.NullThread, -7) {
		m.Registers(id)
		m.Thread(id)
		m.FPRegs(id)
		m.ShadowStack(id)
	}
	libs, _ := table.Libraries(false)
	for _, l := range libs {
		m.ReadWord(l.Start)
		m.MappingAt(l.End - 1)
	}
	for _, x := range m.Mappings() {
		m.InDump(x.Start, x.End)
		m.ReadWord(x.End - 4)
	}
	m.Truncated()
	m.Signal()
	m.Exception()
	m.ExecutablePath()
	m.CommandLine()
	m.Name()
	m.Time()
	m.CodeMask()
	if w, ok := m.WOW64(); ok {
		useMinidump(w)
	}
}
