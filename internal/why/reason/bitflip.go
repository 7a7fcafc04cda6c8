package reason

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// How near a value must be to a guess to count as near, what counts as a small number, and how near to memory
// in use an address is more likely an overrun.
const (
	nearby  = 4096
	low     = 2 * nearby
	overrun = 64 << 10
)

// maxBitFlips is how many guesses are kept.
const maxBitFlips = 16

// firstImpossible is the lowest bit that is clear in every user address on x86-64.
const firstImpossible = 47

// bitFlips looks for addresses that differ in one bit from the bad one and at which the access would have been
// allowed. It needs the memory map and pointers with unused bits: 64-bit processors other than arm64, whose
// pointers carry tags and signatures. An address near null, in a guard page, or slightly outside of memory in
// use has better explanations.
func (in *Input) bitFlips(r *Reason) {
	if in.Mapping == nil || in.Arch.WordSize != 8 || in.Arch.Family == arch.FamilyARM64 ||
		!r.HasAddr || !in.flippable(r) || in.overruns(r.Addr) {
		return
	}
	try := flipper{in: in, reason: r, nonCanonical: !in.canonical(r.Addr)}
	if r.Access == report.AccessExecute {
		try.value(r.Addr, "", func(v uint64) uint64 { return v })
	} else {
		try.operand()
	}
	slices.SortStableFunc(try.found, func(a, b report.BitFlip) int { return cmp.Compare(b.Confidence, a.Confidence) })
	r.BitFlips = try.found[:min(len(try.found), maxBitFlips)]
	in.bitFlipCause(r)
}

// flippable reports whether a flipped bit could explain the reason.
func (in *Input) flippable(r *Reason) bool {
	if r.Addr < nullZone || in.guardPage(r.Addr) || in.kernels(r.Addr) && in.canonical(r.Addr) {
		return false
	}
	if r.bad() {
		return false // the address is fine
	}
	return r.wild() || r.Kind == report.CrashWriteReadOnly
}

// overruns reports whether addr is slightly past the end of memory in use, or slightly before it.
func (in *Input) overruns(addr uint64) bool {
	for at := uint64(0); at <= overrun; at += pageSize {
		for _, a := range [...]uint64{addr - at, addr + at} {
			if m, ok := in.Mapping(a); ok && m.Perm != 0 {
				return true
			}
		}
	}
	return false
}

// A flipper collects guesses.
type flipper struct {
	in           *Input
	reason       *Reason
	nonCanonical bool
	found        []report.BitFlip
}

// operand tries the registers that the bad address was computed from or, if they are not known, the address
// itself.
func (f *flipper) operand() {
	a := f.in.access(f.reason.Addr)
	if !a.Known || !f.reason.AtInst {
		f.value(f.reason.Addr, "", func(v uint64) uint64 { return v })
		return
	}
	for _, reg := range [...]arch.Reg{a.Operand.Base, a.Operand.Index} {
		v, ok := f.in.Regs.Get(reg)
		if !ok || reg == a.Operand.Index && a.Operand.Scale > 1 {
			continue
		}
		f.value(v, f.in.Arch.RegName(reg), func(v uint64) uint64 { return f.with(a, reg, v) })
	}
}

// with returns the address of an access if reg had the value v.
func (f *flipper) with(a disasm.Access, reg arch.Reg, v uint64) uint64 {
	regs := f.in.Regs
	regs.Set(reg, v)
	addr, _ := a.Operand.Address(&regs)
	return f.in.Arch.Truncate(addr)
}

// value tries each bit of a value.
func (f *flipper) value(v uint64, register string, address func(uint64) uint64) {
	first, last := 0, firstImpossible
	if f.nonCanonical {
		first, last = firstImpossible, 64
	}
	for bit := first; bit < last; bit++ {
		guess := v ^ 1<<bit
		null := guess == 0
		if !null && !f.in.allows(address(guess), f.reason.Access) {
			continue
		}
		if null && f.reason.Access == report.AccessExecute {
			continue // nobody calls null on purpose
		}
		b := report.BitFlip{Address: report.Addr(guess), Bit: bit, Register: register}
		b.Details = f.details(v, guess, register)
		b.Confidence = confidence(&b.Details)
		f.found = append(f.found, b)
	}
}

// allows reports whether the memory map allows an access.
func (in *Input) allows(addr uint64, access string) bool {
	m, _ := in.mapping(addr)
	switch access {
	case report.AccessWrite:
		return m.Perm&libstate.Write != 0
	case report.AccessExecute:
		return m.Perm&libstate.Exec != 0
	}
	return m.Perm&libstate.Read != 0
}

func (f *flipper) details(value, guess uint64, register string) report.BitFlipDetails {
	d := report.BitFlipDetails{WasNonCanonical: f.nonCanonical, IsNull: guess == 0}
	d.WasLow = d.IsNull && value <= low
	for reg := range arch.Reg(f.in.Arch.NumRegs()) {
		v, ok := f.in.Regs.Get(reg)
		if !ok {
			continue
		}
		if name := f.in.Arch.RegName(reg); guess > low && name != register && (v-guess <= nearby || guess-v <= nearby) {
			d.NearbyRegisters++
		}
		d.PoisonRegisters = d.PoisonRegisters || f.in.smallPattern(v)
	}
	return d
}

// confidence weighs the evidence for a flip: each point removes a share of the doubt that the others left. That
// memory happens to be one bit away counts little, and a pattern of freed memory halves the rest. The weights
// are those of minidump-stackwalk, whose users have thresholds.
func confidence(d *report.BitFlipDetails) float64 {
	const little, half, much = 0.25, 0.5, 0.9
	doubt := 1 - little
	if d.WasNonCanonical {
		doubt *= 1 - much
	}
	switch {
	case d.WasLow:
		doubt *= 1 - half*half
	case d.IsNull:
		doubt *= 1 - half
	}
	if n := min(d.NearbyRegisters, 4); n > 0 {
		doubt *= 1 - (half + 0.05*float64(n-1))
	}
	sure := 1 - doubt
	if d.PoisonRegisters {
		sure *= half
	}
	return math.Round(sure*1e4) / 1e4
}

// bitFlipCause describes the best guess if there is evidence for it and no better explanation.
func (in *Input) bitFlipCause(r *Reason) {
	const worthSaying = 0.5
	if len(r.BitFlips) == 0 || len(r.Causes) > 0 || r.BitFlips[0].Confidence <= worthSaying {
		return
	}
	b := &r.BitFlips[0]
	what := b.Register
	if what == "" {
		what = "the address"
	}
	r.Causes = append(r.Causes, report.Cause{Confidence: "possible",
		Text: fmt.Sprintf(BitFlipped+"%s: with bit %d flipped it is %s, %s", what, b.Bit, b.Address, in.whatIsAt(uint64(b.Address)))})
}

// BitFlipped is how a cause begins that tells of a flipped bit.
const BitFlipped = "single-bit error in "

// whatIsAt describes the memory at an address.
func (in *Input) whatIsAt(addr uint64) string {
	m, ok := in.mapping(addr)
	switch {
	case addr == 0:
		return "a null pointer"
	case !ok:
		return "near mapped memory"
	case m.Path != "":
		return "in " + m.Path
	}
	return "in mapped memory"
}
