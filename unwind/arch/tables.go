package arch

import "strconv"

// Helpers to write the architectures' tables.

// words lays out registers of the same size one after another.
func words(size int, regs ...Reg) []gregField { return strided(0, size, size, regs...) }

// strided lays out registers of size bytes from off on, stride bytes apart.
func strided(off, stride, size int, regs ...Reg) []gregField {
	fields := make([]gregField, len(regs))
	for i, r := range regs {
		fields[i] = gregField{reg: r, off: off + i*stride, size: size}
	}
	return fields
}

// regs lists the registers from first to last.
func regs(first, last Reg) []Reg {
	var list []Reg
	for r := first; r <= last; r++ {
		list = append(list, r)
	}
	return list
}

// span returns the set of the registers from first to last.
func span(first, last Reg) RegMask { return 1<<(last+1) - 1<<first }

// numbered lists prefix+first to prefix+last.
func numbered(prefix string, first, last int) []string {
	var list []string
	for i := first; i <= last; i++ {
		list = append(list, prefix+strconv.Itoa(i))
	}
	return list
}

// sequence lists the numbers from first to last.
func sequence(first, last int16) []int16 {
	var list []int16
	for i := first; i <= last; i++ {
		list = append(list, i)
	}
	return list
}
