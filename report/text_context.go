package report

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// contextIndent is the column at which source and instructions begin, below their frame.
const contextIndent = 8

// listing writes the source around a frame's line, and marks that line.
func (t *textWriter) listing(f *Frame) {
	l := f.Listing
	if l == nil {
		return
	}
	digits := len(strconv.Itoa(l.First + len(l.Lines)))
	for i, text := range l.Lines {
		n := l.First + i
		st, mark := dim, "  "
		if n == f.Source.Line {
			st, mark = plain, "> "
		}
		t.put(st, strings.Repeat(" ", contextIndent-2)+mark+fmt.Sprintf("%*d  ", digits, n)+t.fit(expandTabs(text), contextIndent+digits+2))
		t.end()
	}
	if l.Newer && !t.newer[l.Path] {
		if t.newer == nil {
			t.newer = map[string]bool{}
		}
		t.newer[l.Path] = true
		t.put(plain, strings.Repeat(" ", contextIndent))
		t.wrap(red, contextIndent, briefBase(l.Path)+" is newer than the program: the lines may have moved")
	}
}

// code writes the instructions around a frame's address, and marks the frame's own.
func (t *textWriter) code(f *Frame) {
	longest := 0
	for i := range f.Code {
		longest = max(longest, len(f.Code[i].Address.String()))
	}
	for i := range f.Code {
		c := &f.Code[i]
		st, mark := dim, "  "
		if c.Here {
			st, mark = plain, "> "
		}
		text := c.Text
		if text == "" {
			text = "not an instruction: " + c.Bytes
		}
		t.put(st, strings.Repeat(" ", contextIndent-2)+mark+fmt.Sprintf("%*s  ", longest, c.Address)+t.fit(clean(text), contextIndent+longest+2))
		t.end()
	}
}

// fit shortens text that begins at a column to the width; not if the user wants all of it.
func (t *textWriter) fit(text string, column int) string {
	if t.opts.Wide {
		return text
	}
	limit := t.width - column
	if !t.fits {
		limit = max(limit, 40)
	}
	limit = max(limit, 12)
	if width(text) <= limit {
		return text
	}
	return text[:runeOffset(text, limit-1)] + "…"
}

// expandTabs replaces tabs by spaces as terminals show them, and characters that must not reach a terminal
// by escapes.
func expandTabs(line string) string {
	const tab = 8
	var b strings.Builder
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", tab-width(b.String())%tab))
		}
		b.WriteString(clean(part))
		if b.Len() > maxSourceLine {
			break
		}
	}
	return b.String()
}

// maxSourceLine bounds the bytes of a source line that are laid out: generated code has lines of megabytes.
const maxSourceLine = 4096

// hexWidth is the columns that hexRow takes at most for some bytes.
func hexWidth(bytes int) int { return 3*bytes + bytes/16 }

// rowWidth is the columns that a line of memory takes, with an address of some digits.
func rowWidth(digits, bytes int) int { return 2 + digits + 2 + hexWidth(bytes) + 2 + bytes + 1 }

// maxPlace is how much is written of what is at an address, in characters.
const maxPlace = 160

// memory writes the memory around the addresses that matter to the crash, sixteen bytes a line, fewer if the line has to
// fit into less.
func (t *textWriter) memory() {
	for i := range t.r.Memory {
		m := &t.r.Memory[i]
		t.end()
		names := make([]string, len(m.Names))
		for k, n := range m.Names {
			names[k] = brief(n, maxName)
		}
		t.put(bold, "Memory at "+strings.Join(names, ", ")+" = "+m.Address.String())
		switch {
		case m.Place != "":
			t.put(plain, " "+brief(m.Place, maxPlace))
		case m.Mapping != "":
			t.put(plain, " in "+briefBase(m.Mapping))
		}
		if m.Bytes == "" {
			t.put(plain, ": not in the dump")
		}
		t.end()
		data, err := hex.DecodeString(m.Bytes)
		if err != nil {
			continue
		}
		digits := len((m.Start + Addr(len(data))).String())
		per := 16
		for t.fits && per > 4 && rowWidth(digits, per) > t.width {
			per /= 2
		}
		for at := 0; at < len(data); at += per {
			row := data[at:min(at+per, len(data))]
			address := m.Start + Addr(at)
			mark := "  "
			if address <= m.Address && m.Address-address < Addr(per) {
				mark = "> "
			}
			t.put(plain, mark+fmt.Sprintf("%*s  %-*s |%s|", digits, address, hexWidth(per), hexRow(row), printable(row)))
			t.end()
		}
	}
}

// hexRow returns bytes in hexadecimal, in two groups of eight.
func hexRow(row []byte) string {
	var b strings.Builder
	for i, c := range row {
		if i == 8 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%02x ", c)
	}
	return strings.TrimRight(b.String(), " ")
}

// printable returns bytes as ASCII, with a point for each other byte.
func printable(row []byte) string {
	text := make([]byte, len(row))
	for i, c := range row {
		if text[i] = '.'; c >= ' ' && c < 0x7f {
			text[i] = c
		}
	}
	return string(text)
}
