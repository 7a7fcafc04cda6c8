package main

import (
	"cmp"
	"encoding/binary"
	"log"
	"slices"
	"strings"

	"golang.org/x/arch/ppc64/ppc64asm"
)

// ppcSelectors says which operands decide how an instruction is written.
func ppcSelectors(f *format) (list []int) {
	switch name := f.name; {
	case slices.Contains([]string{"bc", "bcl", "bca", "bcla"}, name):
		return []int{0, 1}
	case slices.Contains([]string{"bclr", "bclrl", "bcctr", "bcctrl", "bctar", "bctarl"}, name):
		return []int{0, 1, 2}
	case name == "mtspr":
		return []int{0}
	case name == "mfspr":
		return []int{1}
	case name == "mtfsfi", name == "mtfsfi.", name == "paste.":
		return []int{2}
	case name == "mtfsf", name == "mtfsf.", name == "lbarx", name == "lharx", name == "lwarx", name == "ldarx":
		return []int{3}
	case name == "sync":
		return []int{0, 1}
	case name == "paddi":
		return []int{1, 3}
	case strings.HasPrefix(name, "pl"), strings.HasPrefix(name, "pst"):
		return []int{2, 3}
	}
	return nil
}

// ppcOperand returns how an operand is written.
func ppcOperand(f *format, i int) string {
	fd := f.fields[i]
	switch fd.kind {
	case "Reg":
		return "r{u" + fd.String() + "}"
	case "CondRegBit":
		return "{c" + fd.String() + "}"
	case "CondRegField":
		if strings.HasPrefix(f.name, "cmp") {
			return "{C" + fd.String() + "}"
		}
		return "cr{u" + fd.String() + "}"
	case "FPReg":
		return "f{u" + fd.String() + "}"
	case "VecReg":
		return "v{u" + fd.String() + "}"
	case "VecSReg":
		return "vs{u" + fd.String() + "}"
	case "VecSpReg":
		return "vs{u" + fd.String() + "<1}"
	case "MMAReg":
		return "a{u" + fd.String() + "}"
	case "SpReg":
		return "{S" + fd.String() + "}"
	case "ImmSigned", "Offset":
		return "{s" + fd.String() + "}"
	case "ImmUnsigned":
		return "{u" + fd.String() + "}"
	case "PCRel":
		return "{d" + fd.String() + "}"
	case "Label":
		return "{a" + fd.String() + "}"
	case "NegOffset":
		return "{n" + fd.String() + "}"
	}
	log.Fatalf("%s: operand %q", f.name, fd.kind)
	return ""
}

// ppcTexts returns how the operands may be written, left out those that are in drop.
func ppcTexts(f *format, drop int) []string {
	var plain, memory, zero strings.Builder
	sep := ""
	for i := range f.fields {
		if drop>>i&1 != 0 {
			continue
		}
		fd := &f.fields[i]
		op := ppcOperand(f, i)
		orZero := op // a register; the first means 0
		if fd.kind == "Reg" {
			orZero = "{z" + fd.String() + "}"
		}
		if i > 0 && strings.HasSuffix(f.fields[i-1].kind, "Offset") && fd.kind == "Reg" {
			plain.WriteString("(" + op + ")")
			memory.WriteString("(" + orZero + ")")
			zero.WriteString("(" + orZero + ")")
			continue
		}
		plain.WriteString(sep + op)
		memory.WriteString(sep + op)
		if i == 1 {
			op = orZero
		}
		zero.WriteString(sep + op)
		sep = ","
		if strings.HasPrefix(op, "{C") {
			sep = ""
		}
	}
	return slices.Compact([]string{memory.String(), plain.String(), zero.String()})
}

// ppcLines returns the lines of POWER.
func ppcLines(formats []format) (list []line) {
	// Of the lines that fit, the one with the largest mask counts.
	slices.SortStableFunc(formats, func(a, b format) int { return cmp.Compare(b.mask, a.mask) })
	list = append(list, line{^uint64(0), 0, ".long 0x0"})
	for i := range formats {
		f := &formats[i]
		f.zero = 0 // such bits are ignored
		var selectors []int
		dropped := []int{0}
		for _, n := range ppcSelectors(f) {
			selectors = append(selectors, f.fields[n].places()...)
			for _, d := range dropped {
				dropped = append(dropped, d|1<<n)
			}
		}
		branch := f.name[0] == 'b' && len(selectors) >= 10
		candidates := func(text string) (texts []string) {
			name, _, _ := strings.Cut(text, " ")
			names := []string{name}
			if branch && len(name) > 2 {
				names = []string{name[:1] + "{q7.1+14.2}" + name[3:], name}
			}
			for _, name := range names {
				for _, d := range dropped {
					for _, operands := range ppcTexts(f, d) {
						if operands == "" {
							texts = append(texts, name)
						} else {
							texts = append(texts, name+" "+operands)
						}
						if !branch || d&3 != 3 {
							continue
						}
						if operands == "" {
							texts = append(texts, name+"{K11.3}")
						} else {
							texts = append(texts, name+" {C11.3}"+operands)
						}
					}
				}
			}
			return append(texts, ".quad {x0.64}")
		}
		found := f.lines(selectors, candidates, func(code uint64) (string, bool) { return ppcWrites(f.name, code) })
		if f.mask&0xffffffff != 0 || f.value>>58 == 1 { // the operation of the word after a prefix
			for n := range found {
				found[n].mask |= 0xf8000000
			}
		}
		list = append(list, found...)
	}
	return list
}

// ppcWrites returns what x/arch writes for an instruction, if it has this name.
func ppcWrites(name string, code uint64) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	in, err := ppc64asm.Decode(binary.BigEndian.AppendUint64(nil, code), binary.BigEndian)
	if err != nil || in.Op.String() != name {
		return "", false
	}
	return ppc64asm.GNUSyntax(in, pc), true
}
