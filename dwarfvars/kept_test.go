package dwarfvars

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Functions of a program with code: each has 16 bytes, as its symbol says.
const (
	callerCode = 0x1000
	middleCode = 0x1010
	calleeCode = 0x1020
	otherCode  = 0x1030
	noSymbol   = 0x1040
)

// keptProgram makes a process of functions, whose code is written in hexadecimal digits, in units
// of a language.
func keptProgram(t *testing.T, lang dwarf.Language, functions map[uint64]string) *handProgram {
	t.Helper()
	code := []byte(strings.Repeat("\x90", 0x60))
	for at, text := range functions {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		copy(code[at-callerCode:], b)
	}
	describe := []*handDIE{spans(callerCode, callerCode+0x60)}
	for at := uint64(callerCode); at < callerCode+0x60; at += 0x10 {
		describe = append(describe, function(fmt.Sprintf("f%x", at), at, at+0x10))
	}
	sections, _ := unitSections(binary.LittleEndian, 8, 4, lang, describe)
	sections[".a"] = code // the first section, behind the headers
	file := &handFile{
		progs:    []elffile.Prog{{Type: elffile.PT_LOAD, Flags: 5, Off: 120, Vaddr: callerCode, Memsz: 0x60, Filesz: 0x60, Align: 1}},
		sections: sections,
		symbols:  map[string]uint64{"caller": callerCode, "middle": middleCode, "callee": calleeCode, "other": otherCode},
	}
	lib := &libstate.Library{Path: "program", LoadBias: handBias, Start: handBias, End: handBias + 0x10000}
	p := &handProgram{newHand(arch.AMD64, 0x1000), lib, file.image(t)}
	p.libs = &handLibraries{list: []*libstate.Library{lib}}
	for r, v := range map[arch.Reg]uint64{arch.RCX: 11, arch.R9: 22, arch.RBX: 33} {
		p.regs.Set(r, v)
	}
	return p
}

// returnsTo makes a caller's frame.
func returnsTo(addr uint64) func(in, out *unwind.Frame) {
	return func(_, out *unwind.Frame) {
		out.SetRA(handBias + addr)
		out.SetTrust(unwind.TrustCFI)
	}
}

// register reads a register of a frame, "-" if it is not known.
func (p *handProgram) register(t *testing.T, files modules.Source, frames []*unwind.Frame, index int, reg arch.Reg) string {
	t.Helper()
	a, err := New(p, files).At(frames, index)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	v, ok := a.e.register(uint64(p.arch.DWARF(reg)))
	if !ok {
		return "-"
	}
	return fmt.Sprint(v)
}

// TestKeptRegister: what a caller had in rcx, by the code that its callee ran.
func TestKeptRegister(t *testing.T) {
	const direct, crash = "e8 1b 00 00 00", "8b 00" // call callee; mov eax, [rax]
	for name, c := range map[string]struct {
		call, callee string
		at           uint64 // where the callee is
		want         string
	}{
		"the callee has done nothing yet":     {direct, "31 c9" + crash, 0, "11"},
		"it wrote to other registers":         {direct, "31 d2 48 89 f8" + crash, 5, "11"},
		"it wrote to the register":            {direct, "31 c9" + crash, 2, "-"},
		"to its lowest byte":                  {direct, "b1 05" + crash, 2, "-"},
		"to the byte above that":              {direct, "b5 05" + crash, 2, "-"},
		"to its lower half":                   {direct, "89 c1" + crash, 2, "-"},
		"by a load":                           {direct, "48 8b 0f" + crash, 3, "-"},
		"behind a branch":                     {direct, "74 02 31 c9" + crash, 4, "-"},
		"behind a branch never taken so far":  {direct, "74 02" + crash + "31 c9", 2, "11"},
		"in a loop":                           {direct, crash + "31 c9 eb fa", 0, "-"},
		"it saved and restored it":            {direct, "51 31 c9 59" + crash, 4, "11"},
		"it saved it":                         {direct, "51 31 c9" + crash, 3, "-"},
		"it restored half of it":              {direct, "89 4c 24 f8 31 c9 8b 4c 24 f8" + crash, 10, "-"},
		"it copied it":                        {direct, "49 89 c9 31 c9" + crash, 5, "22"},
		"it copied it to one that calls keep": {direct, "48 89 cb 31 c9" + crash, 5, "33"},
		"it copied half of it":                {direct, "41 89 c9 31 c9" + crash, 5, "-"},
		"it called through a register":        {direct, "ff d0" + crash, 2, "-"},
		"it called a function that is seen":   {direct, "e8 0b 00 00 00" + crash, 5, "11"},
		"it called one that is not":           {direct, "e8 00 10 00 00" + crash, 5, "-"},
		"it made a system call":               {direct, "0f 05" + crash, 2, "-"},
		"it is in a system call":              {direct, "0f 05" + crash, 0, "-"},
		"it is in a repeated instruction":     {direct, "f3 a4" + crash, 0, "-"},
		"it jumps to unknown places":          {direct, "55 ff e0" + crash + "eb fc", 3, "-"},
		"no path leads there":                 {direct, "c3" + crash, 8, "-"},
		"another function was called":         {"e8 2b 00 00 00", crash, 0, "-"},
		"the call is through a register":      {"90 90 90 ff d0", crash, 0, "-"},
		"there is no call":                    {"90 90 90 90 90", crash, 0, "-"},
	} {
		p := keptProgram(t, dwarf.LangC99, map[uint64]string{callerCode: c.call, calleeCode: c.callee, otherCode: "c3"})
		p.regs.Set(p.arch.PC, handBias+calleeCode+c.at)
		frames := p.walkBy(t, returnsTo(callerCode+5))
		files := handFiles{p.lib: p.file}
		if got := p.register(t, files, frames, 1, arch.RCX); got != c.want {
			t.Errorf("%s: rcx is %s, want %s", name, got, c.want)
		}
		if got := p.register(t, files, frames, 0, arch.RCX); got != "11" {
			t.Errorf("%s: rcx of the youngest frame is %s", name, got)
		}
	}
}

// unmatched are files of which none is of the build that the process had.
type unmatched struct{ handFiles }

func (unmatched) MatchedImage(*libstate.Library) *modules.Image { return nil }

// TestKeptFrames: which frames may be asked.
func TestKeptFrames(t *testing.T) {
	const toCallee, toMiddle, fromMiddle = "e8 1b 00 00 00", "e8 0b 00 00 00", "e8 0b 00 00 00"
	back := returnsTo(callerCode + 5)
	for name, c := range map[string]struct {
		lang      dwarf.Language
		functions map[uint64]string
		pc        uint64
		steps     []func(in, out *unwind.Frame)
		frame     int
		unmatched bool
		want      string
	}{
		"two calls": {dwarf.LangC99, map[uint64]string{callerCode: toMiddle, middleCode: fromMiddle}, calleeCode,
			[]func(in, out *unwind.Frame){returnsTo(middleCode + 5), back}, 2, false, "11"},
		"two calls, the first function wrote to it": {dwarf.LangC99, map[uint64]string{callerCode: toMiddle, middleCode: "31 c9 e8 09 00 00 00"}, calleeCode,
			[]func(in, out *unwind.Frame){returnsTo(middleCode + 7), back}, 2, false, "-"},
		"two calls, the second function wrote to it": {dwarf.LangC99, map[uint64]string{callerCode: toMiddle, middleCode: fromMiddle, calleeCode: "31 c9"}, calleeCode + 2,
			[]func(in, out *unwind.Frame){returnsTo(middleCode + 5), back}, 2, false, "-"},
		"a scan found it": {dwarf.LangC99, map[uint64]string{callerCode: toCallee}, calleeCode,
			[]func(in, out *unwind.Frame){func(in, out *unwind.Frame) { back(in, out); out.SetTrust(unwind.TrustScan) }}, 1, false, "-"},
		"a signal interrupted it, and its registers are lost": {dwarf.LangC99, map[uint64]string{callerCode: toCallee}, calleeCode,
			[]func(in, out *unwind.Frame){func(in, out *unwind.Frame) { back(in, out); out.SetNonCall(true) }}, 1, false, "-"},
		"the file is of another build": {dwarf.LangC99, map[uint64]string{callerCode: toCallee}, calleeCode, []func(in, out *unwind.Frame){back}, 1, true, "-"},
		"Go":                           {dwarf.LangGo, map[uint64]string{callerCode: toCallee}, calleeCode, []func(in, out *unwind.Frame){back}, 1, false, "-"},
		"the function's end is not known": {dwarf.LangC99, map[uint64]string{callerCode: "e8 3b 00 00 00"}, noSymbol,
			[]func(in, out *unwind.Frame){back}, 1, false, "-"},
	} {
		p := keptProgram(t, c.lang, c.functions)
		p.regs.Set(p.arch.PC, handBias+c.pc)
		var files modules.Source = handFiles{p.lib: p.file}
		if c.unmatched {
			files = unmatched{handFiles{p.lib: p.file}}
		}
		if got := p.register(t, files, p.walkBy(t, c.steps...), c.frame, arch.RCX); got != c.want {
			t.Errorf("%s: rcx is %s, want %s", name, got, c.want)
		}
	}
}

// TestKeptDeep: the number of frames through which a register is followed is limited.
func TestKeptDeep(t *testing.T) {
	p := keptProgram(t, dwarf.LangC99, map[uint64]string{callerCode: "e8 fb ff ff ff"}) // calls itself
	p.regs.Set(p.arch.PC, handBias+callerCode)
	steps := make([]func(in, out *unwind.Frame), maxKept+1)
	for i := range steps {
		steps[i] = returnsTo(callerCode + 5)
	}
	frames := p.walkBy(t, steps...)
	for index, want := range map[int]string{maxKept: "11", maxKept + 1: "-"} {
		if got := p.register(t, handFiles{p.lib: p.file}, frames, index, arch.RCX); got != want {
			t.Errorf("frame %d: rcx is %s, want %s", index, got, want)
		}
	}
}

// TestKeptSinceEntry: without a call site that describes it, what was passed in a register is
// known as long as the function's own code keeps it.
func TestKeptSinceEntry(t *testing.T) {
	p := keptProgram(t, dwarf.LangC99, map[uint64]string{calleeCode: "49 89 c9 31 c9 31 db 45 31 c9"})
	for at, want := range map[uint64]string{0: "11", 3: "11", 5: "22", 10: "-"} {
		p.regs.Set(p.arch.PC, handBias+calleeCode+at)
		a, err := New(p, handFiles{p.lib: p.file}).At(p.walkBy(t, returnsTo(callerCode+5)), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if v, err := a.e.entryValue(ops(op.Reg0 + 2)); err == nil {
			got = fmt.Sprint(v.Bits)
		}
		if got != want {
			t.Errorf("at %d: rcx was %s on entry, want %s", at, got, want)
		}
		if v, err := a.e.entryValue(ops(op.Breg0+2, 0, op.Deref)); err == nil {
			t.Errorf("at %d: rcx pointed to %d", at, v.Bits)
		}
		a.Close()
	}
}
