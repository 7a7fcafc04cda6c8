package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"strings"

	"golang.org/x/arch/s390x/s390xasm"
)

// s390Operands returns the operands of a format as they are written, with what is between them. left says of each
// operand that it is left out, constants what is written in its place.
func s390Operands(f *format, left map[int]bool, constants map[int]int) string {
	var b strings.Builder
	var before string // the kind of the operand before
	for i := 0; i < len(f.fields); i++ {
		if left[i] {
			continue
		}
		fd := &f.fields[i]
		sep := ","
		if before == "" {
			sep = ""
		}
		in := strings.HasPrefix(before, "Disp")
		op := ""
		switch fd.kind {
		case "Reg":
			op = "%r{u" + fd.String() + "}"
		case "FPReg":
			op = "%f{u" + fd.String() + "}"
		case "ACReg":
			op = "%a{u" + fd.String() + "}"
		case "CReg":
			op = "%c{u" + fd.String() + "}"
		case "VecReg":
			// The fifth bit of the number is one of the four before the operation.
			high := map[int]int{8: 36, 12: 37, 16: 38, 32: 39}[fd.bits[0][0]]
			op = fmt.Sprintf("%%v{u%d.1+%s}", high, fd.String())
		case "DispUnsigned":
			op = "{u" + fd.String() + "}"
		case "DispSigned20":
			op = fmt.Sprintf("{s%d.8+%d.12}", fd.bits[0][0]+12, fd.bits[0][0])
		case "ImmSigned8", "ImmSigned16", "ImmSigned32":
			op = "{s" + fd.String() + "}"
		case "ImmUnsigned", "Mask":
			op = "{u" + fd.String() + "}"
		case "Len":
			op = "{l" + fd.String() + "}"
		case "RegImSigned12", "RegImSigned16", "RegImSigned24", "RegImSigned32":
			op = "{p" + fd.String() + "<1}"
		case "IndexReg":
			b.WriteString("{X" + fd.String() + "," + f.fields[i+1].String() + "}")
			i++
			before = "BaseReg"
			continue
		case "BaseReg":
			if in {
				b.WriteString("{M" + fd.String() + "}")
			} else {
				b.WriteString(",{B" + fd.String() + "}")
			}
			before = fd.kind
			continue
		default:
			log.Fatalf("%s: operand %q", f.name, fd.kind)
		}
		if in && (fd.kind == "Len" || fd.kind == "VecReg" || strings.HasSuffix(fd.kind, "Reg")) {
			sep = "("
		}
		if n, ok := constants[i]; ok {
			op = fmt.Sprint(n)
		}
		b.WriteString(sep + op)
		before = fd.kind
	}
	return b.String()
}

// s390Lines returns the lines of z/Architecture.
func s390Lines(formats []format) (list []line) {
	list = append(list, line{^uint64(0), 0, ".long 0x0"})
	for i := range formats {
		f := &formats[i]
		write := func(code uint64) (string, bool) { return s390Writes(f.name, code) }
		var selecting []int
		var selectors []int
		for n, fd := range f.fields {
			if fd.kind == "Mask" {
				selecting = append(selecting, n)
				selectors = append(selectors, fd.places()...)
			}
		}
		switch f.name {
		case "vno": // of a register with itself it has another name
			selecting = []int{2}
			selectors = append(append(f.fields[1].places(), f.fields[2].places()...), 63-37, 63-38)
		case "vgbm": // of no bit, or all
			selecting = []int{1}
		}
		last := len(f.fields) - 1
		vector := last >= 0 && f.fields[last].kind == "ImmUnsigned" && f.fields[last].bits[0] == [2]int{36, 4}
		if len(selectors) > 12 {
			log.Fatalf("%s: %d selectors", f.name, len(selectors))
		}
		candidates := func(text string) (texts []string) {
			name, _, _ := strings.Cut(text, " ")
			add := func(left map[int]bool, constants map[int]int) {
				text := name
				if operands := s390Operands(f, left, constants); operands != "" {
					text += " " + operands
				}
				texts = append(texts, text)
			}
			ways := 1 << len(selecting)
			for way := range ways {
				left := map[int]bool{}
				for k, n := range selecting {
					left[n] = way>>k&1 != 0
				}
				add(left, nil)
				if vector {
					left[last] = true
					add(left, nil)
				}
				// A field may be written with bits less.
				for _, n := range selecting {
					if !left[n] {
						for c := range 16 {
							add(left, map[int]int{n: c})
						}
					}
				}
			}
			return texts
		}
		general := write
		if f.name == "vgbm" {
			for _, all := range []uint64{0, 1} {
				special := *f
				for _, bit := range f.fields[1].places() {
					special.mask |= 1 << bit
					special.value |= all << bit
				}
				list = append(list, special.lines(nil, candidates, write)...)
			}
			general = func(code uint64) (string, bool) {
				text, ok := write(code)
				return text, ok && strings.HasPrefix(text, f.name)
			}
		}
		list = append(list, f.lines(selectors, candidates, general)...)
	}
	return list
}

// s390Writes returns what x/arch writes for an instruction, if it has this name.
func s390Writes(name string, code uint64) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	in, err := s390xasm.Decode(binary.BigEndian.AppendUint64(nil, code))
	if err != nil || in.Op.String() != name {
		return "", false
	}
	return s390xasm.GNUSyntax(in, pc), true
}
