package jitmap

import (
	"bytes"
	"errors"
	"fmt"
)

// ParsePerfMap reads a map file of perf. Lines that are none are left out, and counted in Damaged; the last may have been cut
// off while it was written. It is an error if no line is one.
func ParsePerfMap(data []byte) (*Map, error) { return parsePerf(data, maxRecords) }

func parsePerf(data []byte, most int) (*Map, error) {
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	m := &Map{data: data, list: make([]record, 0, min(len(data)/64, most))}
	bad, at := 0, 0
	for len(m.list) < most {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			break
		}
		r, ok := perfLine(data[at : at+n])
		r.name += uint32(at)
		if !ok || !m.add(r) {
			bad++
		}
		at += n + 1
	}
	switch {
	case len(m.list) == 0:
		return nil, errors.New("not a map of perf: no line has an address, a size and a name")
	case len(m.list) == most && at < len(data):
		m.Damaged = fmt.Errorf("of its lines only the first %d are read", most)
	case bad > 0:
		m.Damaged = fmt.Errorf("%d lines are not an address, a size and a name", bad)
	}
	m.index()
	return m, nil
}

// perfLine reads a line: START SIZE NAME, the first two in hexadecimal digits. Some write 0x before them.
func perfLine(line []byte) (r record, ok bool) {
	start, rest := hexField(line)
	size, name := hexField(rest)
	at := len(line) - len(name)
	name = bytes.TrimRight(name, "\r")
	return record{start: start, size: size, name: uint32(at), nameLen: uint32(len(name)), lines: -1, table: -1}, len(name) > 0
}

var errTooLarge = errors.New("larger than 2 GiB")

// hexField reads a number and the space behind it; rest is empty if there is none. No digits are 0, which no record begins at.
func hexField(b []byte) (n uint64, rest []byte) {
	field, rest, _ := bytes.Cut(b, []byte(" "))
	if len(field) > 2 && field[0] == '0' && field[1]|0x20 == 'x' {
		field = field[2:]
	}
	if len(field) > 16 {
		return 0, nil
	}
	for _, c := range field {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | uint64(c|0x20-'a'+10)
		default:
			return 0, nil
		}
	}
	return n, rest
}
