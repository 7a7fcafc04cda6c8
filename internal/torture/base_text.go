package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// symCases are minidumps for whose programs symbol files are written.
var symCases = []string{"amd64-clang-O0-deep", "amd64-mingw-deep", "i386-clang-O0", "aarch64-clang-O0"}

func symBases(t tb) (list []base) {
	for _, name := range symCases {
		list = append(list, base{kind: "sym", name: name, ready: func(dir string) (r *ready, err error) {
			err = caught(func() error {
				r, err = symReady(t, fixture.Get(t, name), dir)
				return err
			})
			return r, err
		}})
	}
	return list
}

// symReady damages a symbol file of Breakpad for the program of a minidump, in whose place it is used.
func symReady(t tb, c fixture.Case, dir string) (*ready, error) {
	text, err := symbolFile(t, c)
	if err != nil {
		return nil, err
	}
	search := filepath.Join(dir, "symbols")
	if err := os.Mkdir(search, 0o755); err != nil {
		return nil, err
	}
	s, err := stage(filepath.Join(search, "program.sym"), text)
	if err != nil {
		return nil, err
	}
	core := c.Core(t)
	r := &ready{data: text, shape: &shape{text: true, regions: []region{{0, len(text)}}}, repair: s.mend, close: s.close}
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), core, append(opts, corewalk.WithSearch(search), corewalk.WithSysroot(t.dir), corewalk.WithDebugDir(t.dir))...)
			}, rng)
		})
	}
	return r, nil
}

// symbolFile writes what the crashing thread needs: its functions, lines, inlined calls and unwind rules.
func symbolFile(t tb, c fixture.Case) ([]byte, error) {
	var opts []corewalk.Option
	for _, d := range c.Search(t) {
		opts = append(opts, corewalk.WithSearch(d))
	}
	target, err := corewalk.Open(context.Background(), c.Core(t), append(opts, corewalk.WithSysroot(t.dir), corewalk.WithDebugDir(t.dir))...)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, m := range r.Modules {
		if !m.Main {
			continue
		}
		arch := map[string]string{"amd64": "x86_64", "i386": "x86", "aarch64": "arm64"}[c.Arch()]
		fmt.Fprintf(&b, "MODULE windows %s %s %s\n", arch, m.DebugID, m.DebugName)
		fmt.Fprintf(&b, "INFO CODE_ID %s %s\nFILE 0 a.c\nFILE 1 b.c\nINLINE_ORIGIN 0 inlined\nINLINE_ORIGIN 1 ns::deeper(int)\n", m.CodeID, filepath.Base(m.Path))
		var starts []uint64
		for _, th := range r.Threads {
			for _, f := range th.Frames {
				if a := uint64(f.PC) - uint64(m.Base); a < uint64(m.End)-uint64(m.Base) {
					starts = append(starts, a&^0x3f)
				}
			}
		}
		slices.Sort(starts)
		for i, at := range slices.Compact(starts) {
			fmt.Fprintf(&b, "FUNC %x 40 8 function%d(int, char)\nINLINE 0 7 0 0 %x 20\nINLINE 1 8 1 1 %x 10 %x 8\n%x 10 %d 0\n%x 30 %d 1\n",
				at, i, at, at, at+0x18, at, i+1, at+0x10, i+2)
			switch c.Arch() {
			case "amd64":
				fmt.Fprintf(&b, "STACK CFI INIT %x 40 .cfa: $rbp 16 + .ra: .cfa 8 - ^ $rbp: .cfa 16 - ^\nSTACK CFI %x .cfa: $rbp 16 + $rbx: .cfa 24 - ^\n", at, at+4)
			case "aarch64":
				fmt.Fprintf(&b, "STACK CFI INIT %x 40 .cfa: x29 16 + .ra: .cfa 8 - ^ x29: .cfa 16 - ^\n", at)
			default:
				fmt.Fprintf(&b, "STACK WIN 4 %x 40 3 0 8 0 10 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n", at)
			}
		}
		fmt.Fprintf(&b, "PUBLIC 1000 0 entry\nPUBLIC 1040 4 other\n")
	}
	return b.Bytes(), nil
}

// nameBases damage mangled names, which are demangled alone: some hundred thousand in a minute.
func nameBases(t tb) (list []base) {
	for _, name := range []string{"amd64-cxx-uncaught", "amd64-vars-cxx-O0", "amd64-rust-unwrap", "amd64-vars-rust-O0", "amd64-vars-libcxx"} {
		list = append(list, base{kind: "names", name: name, part: true, ready: func(string) (*ready, error) {
			var names []string
			err := caught(func() error {
				data, err := readFile(fixture.Get(t, name).Binary(t))
				if err != nil {
					return err
				}
				names = mangled(data)
				return nil
			})
			if len(names) == 0 {
				return nil, errNothing
			}
			return namesReady(names), err
		}})
	}
	list = append(list, base{kind: "names", name: "swift", part: true, ready: func(string) (*ready, error) {
		return namesReady([]string{"$s4shop6AnimalC6hidden33_AED8BA7091A14A7CBE960C143C204003LL1xS2icSi_SS5labelt_tFS2icfU_TA.7",
			"$sSD16uniquingKeysWithSDyxq_Gqd__n_q_q__q_tKXEtKcSTRd__x_q_t7ElementRtd__lufC", "$ss5Int64VSjsSj2meoiyyxz_xtFZTW",
			"$ss23_ContiguousArrayStorageCy12_Backtracing11DwarfReaderV12CallSiteInfoVyAC8ElfImageCyAC04FileK6SourceCAC11Elf64TraitsVG_GGMD",
			"$sxqd__s5Error_pIgnrzo_xqd__sAA_pIegnrzr_r__lTR", "$s4main0012vergenza_JFayyF", "$s1a1bC_A2048CtD", "$sSi_S2048itD"}), nil
	}})
	list = append(list, base{kind: "names", name: "microsoft", part: true, ready: func(string) (*ready, error) {
		return namesReady([]string{"?f@@YAXXZ", "??0C@ns@@QAE@XZ", "?x@?1??f@@YAXH@Z@4HA", "??$max@H@std@@YAABHABH0@Z", "?call@?$Fn@P6AHPEAX@Z@@UEAAXV?$vector@HV?$allocator@H@std@@@std@@@Z",
			"??_R4type_info@@6B@", "?get@?A0x12345678@@YAPEAUS@1@XZ", "??_C@_0M@LACCBNGM@hello?5world?$AA@"}), nil
	}})
	return list
}

// mangled returns names in the symbol table of a file, of all lengths.
func mangled(data []byte) (names []string) {
	f, err := elffile.Parse(data)
	if err != nil {
		return nil
	}
	for _, sec := range f.Sections() {
		if sec.Name() != ".strtab" || int(sec.Off+sec.Size) > len(data) {
			continue
		}
		for _, name := range strings.Split(string(data[sec.Off:sec.Off+sec.Size]), "\x00") {
			if demangle.Mangled(name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	names = slices.Compact(names)
	for len(names) > 24 {
		var some []string
		for i := 0; i < len(names); i += 2 {
			some = append(some, names[i])
		}
		names = some
	}
	return names
}

// namesReady damages a text with a name in each line; each is demangled in all ways.
func namesReady(names []string) *ready {
	data := []byte(strings.Join(names, "\n"))
	r := &ready{data: data, shape: &shape{text: true, regions: []region{{0, len(data)}}}, repair: func([]edit) error { return nil }, close: func() {}}
	r.run = func(edits []edit, rng *rand.Rand) error {
		for name := range strings.SplitSeq(string(apply(data, edits)), "\n") {
			demangle.Name(name)
			demangle.Func(name)
			demangle.NameWith(name, demangle.Options{NoTemplateParams: true, NoEnclosingParams: true, NoClones: true})
		}
		return nil
	}
	return r
}
