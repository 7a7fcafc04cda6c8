package winunwind_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/winunwind"
)

// TestPacked compares the codes of all combinations of packed data with llvm-readobj's
// output.
func TestPacked(t *testing.T) {
	readobj := fixture.LLVM(t, "llvm-readobj")
	var asm strings.Builder
	asm.WriteString(".text\n.p2align 2\nf:\n.zero 65536\n.section .pdata,\"dr\"\n.p2align 2\n")
	var all []uint32
	for regF := range uint32(8) {
		for regI := range uint32(11) {
			for h := range uint32(2) {
				for cr := range uint32(4) {
					for _, frame := range []uint32{16, 33, 45, 300, 511} {
						w := 1 | 4<<2 | regF<<13 | regI<<16 | h<<20 | cr<<21 | frame<<23
						fmt.Fprintf(&asm, ".rva f+%d\n.long %#x\n", 16*len(all), w)
						all = append(all, w)
					}
				}
			}
		}
	}
	src := filepath.Join(t.TempDir(), "packed.s")
	if err := os.WriteFile(src, []byte(asm.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, dll := link(t, "aarch64", nil, src)
	theirs := regexp.MustCompile(`(?s)Prologue \[\n(.*?)\n    \]`).FindAllStringSubmatch(run(t, readobj, "--unwind", dll), -1)
	if len(theirs) != len(all) {
		t.Fatalf("%d of %d entries are printed", len(theirs), len(all))
	}
	home := regexp.MustCompile(`stp x[0246], x[1357], \[sp, #\d+\]`)
	first := regexp.MustCompile(`stp x0, x1, \[sp, #-(\d+)\]!`)
	compared := 0
	for i, w := range all {
		text := theirs[i][1]
		if strings.Contains(text, "INVALID") { // x19 and lr alone, which it does not know
			continue
		}
		want := []string{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			line = first.ReplaceAllString(home.ReplaceAllString(line, "nop"), "sub sp, sp, #$1")
			if line != "end" && line != "" {
				want = append(want, line)
			}
		}
		codes, err := winunwind.ExpandPacked(w)
		if err != nil {
			t.Errorf("%#x: %v; llvm-readobj: %q", w, err, want)
			continue
		}
		compared++
		if got := printCodes(codes); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%#x: %q, llvm-readobj: %q", w, got, want)
		}
	}
	if compared < len(all)*8/10 {
		t.Errorf("only %d of %d are compared", compared, len(all))
	}
}

// printCodes formats codes like llvm-readobj.
func printCodes(codes []byte) (lines []string) {
	for len(codes) > 0 {
		n := winunwind.CodeSize(codes[0])
		w := uint32(codes[0])
		if n == 2 {
			w = w<<8 | uint32(codes[1])
		}
		codes = codes[n:]
		z6, z5 := w&63*8, w&31*8
		var s string
		switch {
		case n == 1 && w < 0x20:
			s = fmt.Sprintf("sub sp, sp, #%d", w*16)
		case n == 1 && w>>6 == 1:
			s = fmt.Sprintf("stp x29, lr, [sp, #%d]", z6)
		case n == 1 && w>>6 == 2:
			s = fmt.Sprintf("stp x29, lr, [sp, #-%d]!", z6+8)
		case w == 0xe1:
			s = "mov x29, sp"
		case w == 0xe3:
			s = "nop"
		case w == 0xfc:
			s = "pacibsp"
		case w>>11 == 0xc0>>3:
			s = fmt.Sprintf("sub sp, sp, #%d", w&0x7ff*16)
		case w>>10 == 0xc8>>2:
			s = fmt.Sprintf("stp x%d, x%d, [sp, #%d]", 19+(w>>6&15), 20+(w>>6&15), z6)
		case w>>10 == 0xcc>>2:
			s = fmt.Sprintf("stp x%d, x%d, [sp, #-%d]!", 19+(w>>6&15), 20+(w>>6&15), z6+8)
		case w>>10 == 0xd0>>2:
			s = fmt.Sprintf("str %s, [sp, #%d]", general(19+(w>>6&15)), z6)
		case w>>9 == 0xd4>>1:
			s = fmt.Sprintf("str %s, [sp, #-%d]!", general(19+(w>>5&15)), z5+8)
		case w>>9 == 0xd6>>1:
			s = fmt.Sprintf("stp x%d, lr, [sp, #%d]", 19+2*(w>>6&7), z6)
		case w>>9 == 0xd8>>1:
			s = fmt.Sprintf("stp d%d, d%d, [sp, #%d]", 8+(w>>6&7), 9+(w>>6&7), z6)
		case w>>9 == 0xda>>1:
			s = fmt.Sprintf("stp d%d, d%d, [sp, #-%d]!", 8+(w>>6&7), 9+(w>>6&7), z6+8)
		case w>>9 == 0xdc>>1:
			s = fmt.Sprintf("str d%d, [sp, #%d]", 8+(w>>6&7), z6)
		default:
			s = fmt.Sprintf("%#x", w)
		}
		lines = append(lines, s)
	}
	return lines
}

func general(r uint32) string {
	if r == 30 {
		return "lr"
	}
	return fmt.Sprintf("x%d", r)
}
