package analysis

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// stopped is a process with some code, whose pc is behind the instruction that stopped it.
type stopped struct {
	proc
	a    *arch.Arch
	code string // from codeAt on
}

const codeAt = 0x10000

func (p *stopped) Arch() *arch.Arch                { return p.a }
func (p *stopped) BehindTrap(unwind.ThreadID) bool { return true }
func (p *stopped) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < codeAt || addr-codeAt >= uint64(len(p.code)) {
		return 0, errNoMemory
	}
	return copy(buf, p.code[addr-codeAt:]), nil
}

func (p *stopped) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	return libstate.Mapping{Start: codeAt, End: codeAt + 0x1000, Perm: libstate.Read | libstate.Exec}, addr>>12 == codeAt>>12
}

// TestInstructionBehind: the instruction of a report is the one that stopped the process, not the one at pc.
func TestInstructionBehind(t *testing.T) {
	const (
		int3 = "\x55\xcc\xf4"                                                 // push; int3; hlt
		dsgr = "\xb9\x04\x00\x52\xb9\x0d\x00\x43\xb9\x04\x00\x25"             // lgr; dsgr; lgr
		dsg  = "\xb9\x04\x00\x52\xe3\x40\x30\x00\x00\x0d\xb9\x04\x00\x25\x07" // lgr; dsg; lgr
	)
	addr := func(number int, addr uint64) reason.Signal {
		return reason.Signal{Number: number, Code: 1, HasInfo: true, Addr: codeAt + addr, HasAddr: true, TID: 1}
	}
	for _, c := range []struct {
		name string
		a    *arch.Arch
		code string
		pc   uint64 // from codeAt on
		s    reason.Signal
		want uint64 // likewise; 0 if there is none
	}{
		{"int3", arch.AMD64, int3, 2, reason.Signal{Number: 5, Code: 0x80, HasInfo: true, TID: 1}, 1},
		{"int3, with an address", arch.AMD64, int3, 2, addr(5, 2), 1},
		{"4 bytes", arch.S390X, dsgr, 8, addr(8, 4), 4},
		{"6 bytes", arch.S390X, dsg, 10, addr(8, 4), 4},
		{"s390, no address", arch.S390X, dsgr, 8, reason.Signal{Number: 8, Code: 1, HasInfo: true, TID: 1}, 0},
	} {
		p := &stopped{proc{threads: []unwind.ThreadID{1}, regs: map[unwind.ThreadID]arch.RegSet{}}, c.a, c.code}
		var rs arch.RegSet
		rs.Set(c.a.PC, codeAt+c.pc)
		rs.Set(c.a.SP, 0x7000)
		p.regs[1] = rs
		w, err := unwind.NewWalker(p, unwind.WithGroup(unwind.NewAddrRangeGroup()))
		if err != nil {
			t.Fatal(err)
		}
		got := NewEngine(Parts{Proc: p, Walker: w, Signal: &c.s}).Report(context.Background(), Options{}).Crash.Instruction
		if (got == nil) != (c.want == 0) || got != nil && uint64(got.Address) != codeAt+c.want {
			t.Errorf("%s: %+v, want at %#x", c.name, got, c.want)
		}
		w.Close()
	}
}

// A number that the code certainly made had no bit flipped in its register; of other registers, and of what is less sure, the guess is told.
func TestUnflipped(t *testing.T) {
	blame := func(confidence, register string, kinds ...string) *fault {
		b := &report.Blame{Confidence: confidence, Register: register}
		for _, k := range kinds {
			b.Steps = append(b.Steps, report.BlameStep{Kind: k})
		}
		return &fault{blame: b}
	}
	for what, c := range map[string]struct {
		f    *fault
		want bool
	}{
		"set":                   {blame(report.Certain, "rdx", report.BlameVariable, report.BlameSet), true},
		"set, as far as seen":   {blame(report.Likely, "rdx", report.BlameSet), false},
		"read":                  {blame(report.Certain, "rdx", report.BlameRead), false},
		"of no register":        {blame(report.Certain, "", report.BlameSet), false},
		"from where is unknown": {blame(report.Certain, "rdx"), false},
	} {
		if got := c.f.set(); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	flips := []report.BitFlip{{Register: "rax"}, {Register: "rdx"}}
	causes := []report.Cause{{Text: reason.BitFlipped + "rdx: with bit 32 flipped it is 0x0"}, {Text: reason.BitFlipped + "rax: with bit 3 flipped it is 0x0"}, {Text: "a guess"}}
	left, told := unflipped(flips, causes, "rdx")
	if len(left) != 1 || left[0].Register != "rax" || len(told) != 2 || told[0].Text != causes[1].Text || len(flips) != 2 || flips[1].Register != "rdx" || causes[0].Text == causes[1].Text {
		t.Errorf("%+v %+v", left, told)
	}
}
