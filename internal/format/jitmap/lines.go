package jitmap

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines are kept as they are in the file, and read when they are asked for: most functions are never.
type lines struct {
	data  []byte // the entries
	n     uint64 // how many
	moved uint64 // by how much the code was moved since
	big   bool
}

const (
	// entryHead is what an entry has before its name: the address, u64, the line and a discriminator, u32.
	entryHead = 16
	// textOffset is how far behind their code V8 places the addresses of lines: perf puts the code of each function into an ELF file,
	// behind the header, and takes the addresses for those there.
	textOffset = 64
)

// debugInfo reads the lines of code that comes later: its address and how many entries follow, u64, and the entries.
func (d *dump) debugInfo(b []byte) bool {
	if len(b) < 16 {
		return false
	}
	addr, n := d.order.Uint64(b), d.order.Uint64(b[8:])
	l := lines{data: b[16:], n: n, big: d.order == binary.ByteOrder(binary.BigEndian)}
	if n > uint64(len(l.data))/(entryHead+1) {
		return false
	}
	d.debug[addr] = int32(len(d.lines))
	d.lines = append(d.lines, l)
	return true
}

// measure counts whether the first line of a function is so far behind its beginning.
func (d *dump) measure(l *lines, start uint64) {
	l.each(func(addr uint64, _ int, _ []byte) bool {
		if addr >= start+textOffset {
			d.high++
		} else {
			d.low++
		}
		return false
	})
}

// each calls yield with the entries until it returns false. An entry whose file is "\xff" has that of the entry before.
func (l *lines) each(yield func(addr uint64, line int, file []byte) bool) {
	b, file := l.data, []byte(nil)
	for range l.n {
		if len(b) < entryHead {
			return
		}
		name, rest, ok := cString(b[entryHead:])
		if !ok {
			return
		}
		addr, line := word64(b, l.big), word32(b[8:], l.big)
		if len(name) != 1 || name[0] != 0xff {
			file = name
		}
		if !yield(addr+l.moved, int(line), file) {
			return
		}
		b = rest
	}
}

// Line returns the source line of the code at an address of the function: that of the last entry up to there. V8 writes entries that
// are damaged, and of the code that runs bytecode, or was made of it as it is, offsets of bytecode: nothing is known then.
func (f *Function) Line(addr uint64) (file string, line int, ok bool) {
	if bytecode(f.Name) {
		return "", 0, false
	}
	var name []byte
	best, sound := uint64(0), true
	f.lines.each(func(at uint64, n int, of []byte) bool {
		at -= f.shift
		sound = at-f.Start <= f.Size && isText(of)
		if at <= addr && (!ok || at >= best) {
			best, line, name, ok = at, n, of, true
		}
		return sound
	})
	if !ok || !sound || line <= 0 || len(name) == 0 {
		return "", 0, false
	}
	return string(name), line, true
}

// bytecode reports whether V8 names code so that is interpreted or that its baseline compiler made.
func bytecode(name string) bool {
	return strings.HasPrefix(name, "JS:~") || strings.HasPrefix(name, "JS:^")
}

// isText reports whether a path can be one.
func isText(b []byte) bool {
	return len(b) <= maxName && utf8.Valid(b) && !bytes.ContainsFunc(b, unicode.IsControl)
}

func word64(b []byte, big bool) uint64 {
	if big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

func word32(b []byte, big bool) uint32 {
	if big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}
