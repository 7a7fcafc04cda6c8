package libraries_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCodeInMemory: memory without a file is a library if it has the headers of one; else it is code that the process made, whatever maps it.
func TestCodeInMemory(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	p.load("/memfd:a library (deleted)", 0x7f0000000000, firstPage(corebuild.Header{Class: 64, Order: arch.AMD64.ByteOrder, Type: elffile.ET_DYN, Machine: elffile.EM_X86_64, Progs: usual}), nil)
	p.mapping(0x7f0000100000, 0x7f0000110000, 0x20000, rx, "/memfd:doublemapper (deleted)", nil)
	p.mapping(0x7f0000200000, 0x7f0000210000, 0, rx, "/dev/zero (deleted)", nil)
	p.mapping(0x7f0000300000, 0x7f0000310000, 0, rx, "/SYSV00000000 (deleted)", nil)
	p.mapping(0x7f0000400000, 0x7f0000410000, 0, rx, "/dev/shm/lib.so", nil)
	_, got, _ := p.build()
	want := "library /memfd:a library bias 0x7f0000000000 [0x7f0000000000,0x7f0000007000) 5 maps header 0x7f0000000000" + idText + " deleted\n" +
		"library /dev/shm/lib.so bias 0x7f0000400000 [0x7f0000400000,0x7f0000410000) 1 maps header 0x7f0000400000 guessed\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
