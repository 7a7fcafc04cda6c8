package report

import (
	"io"
	"strconv"
	"time"
)

// A jsonWriter encodes by hand, because a stack may have 262,144 frames and encoding/json takes several times
// as long for them. It holds at most about flushAt bytes plus the value being written.
//
// Outer levels have one value a line, one frame or module each, so that line tools (grep, diff) work on
// reports.
type jsonWriter struct {
	w      io.Writer
	buf    []byte
	err    error
	depth  int
	oneRow int  // depth at which one-line mode began; 0 outside of it
	comma  bool // this level already has a value
	texts  map[*Frame][]frameText
}

const flushAt = 32 << 10

// open begins an object or an array. With row, all of it stays on one line.
func (j *jsonWriter) open(bracket byte, row bool) {
	j.buf = append(j.buf, bracket)
	j.depth++
	if row && j.oneRow == 0 {
		j.oneRow = j.depth
	}
	j.comma = false
}

// close ends the innermost object or array.
func (j *jsonWriter) close(bracket byte) {
	row := j.oneRow != 0
	if j.oneRow == j.depth {
		j.oneRow = 0
	}
	j.depth--
	if j.comma && !row {
		j.newline()
	}
	j.buf = append(j.buf, bracket)
	j.comma = true
}

func (j *jsonWriter) newline() {
	j.buf = append(j.buf, '\n')
	for range j.depth {
		j.buf = append(j.buf, ' ')
	}
}

// next writes the separator from the value before and, on outer levels, begins a line.
func (j *jsonWriter) next() {
	if j.comma {
		j.buf = append(j.buf, ',')
	}
	if j.oneRow == 0 {
		j.newline()
	} else if j.comma {
		j.buf = append(j.buf, ' ')
	}
	j.comma = true
	if len(j.buf) >= flushAt {
		j.flush()
	}
}

func (j *jsonWriter) flush() {
	if j.w == nil {
		return
	}
	if j.err == nil {
		_, j.err = j.w.Write(j.buf)
	}
	j.buf = j.buf[:0]
}

// key begins a field of an object. Keys are constants that need no escaping.
func (j *jsonWriter) key(k string) {
	j.next()
	j.buf = append(j.buf, '"')
	j.buf = append(j.buf, k...)
	j.buf = append(j.buf, `": `...)
}

func (j *jsonWriter) str(k, v string) {
	j.key(k)
	j.buf = appendJSONString(j.buf, v)
}

func (j *jsonWriter) optStr(k, v string) {
	if v != "" {
		j.str(k, v)
	}
}

// path writes a path that has the key k, and its bytes if they are not UTF-8. bytes is what the report says they are.
func (j *jsonWriter) path(k, v, bytes string) {
	j.str(k, v)
	if b := ExactBytes(v); b != "" {
		bytes = b
	}
	j.optStr(k+"_bytes", bytes)
}

func (j *jsonWriter) optPath(k, v, bytes string) {
	if v != "" {
		j.path(k, v, bytes)
	}
}

func (j *jsonWriter) num(k string, v int) {
	j.key(k)
	j.buf = strconv.AppendInt(j.buf, int64(v), 10)
}

func (j *jsonWriter) signed(k string, v int64) {
	j.key(k)
	j.buf = strconv.AppendInt(j.buf, v, 10)
}

func (j *jsonWriter) optNum(k string, v int) {
	if v != 0 {
		j.num(k, v)
	}
}

func (j *jsonWriter) size(k string, v uint64) {
	j.key(k)
	j.buf = strconv.AppendUint(j.buf, v, 10)
}

func (j *jsonWriter) optSize(k string, v uint64) {
	if v != 0 {
		j.size(k, v)
	}
}

func (j *jsonWriter) addr(k string, v Addr) {
	j.key(k)
	j.buf = append(v.append(append(j.buf, '"')), '"')
}

func (j *jsonWriter) optAddr(k string, v Addr) {
	if v != 0 {
		j.addr(k, v)
	}
}

func (j *jsonWriter) bool(k string, v bool) {
	j.key(k)
	j.buf = strconv.AppendBool(j.buf, v)
}

func (j *jsonWriter) optBool(k string, v bool) {
	if v {
		j.bool(k, v)
	}
}

// float writes a number of ordinary size as encoding/json does.
func (j *jsonWriter) float(k string, v float64) {
	j.key(k)
	j.buf = strconv.AppendFloat(j.buf, v, 'f', -1, 64)
}

func (j *jsonWriter) optFloat(k string, v float64) {
	if v != 0 {
		j.float(k, v)
	}
}

// time writes t unless it is zero or in a year that RFC 3339 cannot express.
func (j *jsonWriter) time(k string, t time.Time) {
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return
	}
	j.key(k)
	j.buf = append(t.AppendFormat(append(j.buf, '"'), time.RFC3339Nano), '"')
}

func (j *jsonWriter) null(k string) {
	j.key(k)
	j.buf = append(j.buf, "null"...)
}

// array writes a field that holds a list, on outer levels with one element a line.
func array[T any](j *jsonWriter, key string, list []T, write func(*jsonWriter, *T)) {
	j.key(key)
	j.open('[', false)
	for i := range list {
		j.next()
		write(j, &list[i])
	}
	j.close(']')
}

func (j *jsonWriter) strings(key string, list []string, row bool) {
	j.key(key)
	j.open('[', row)
	for _, s := range list {
		j.next()
		j.buf = appendJSONString(j.buf, s)
	}
	j.close(']')
}

func (j *jsonWriter) addrs(key string, list []Addr) {
	j.key(key)
	j.open('[', false)
	for _, a := range list {
		j.next()
		j.buf = append(a.append(append(j.buf, '"')), '"')
	}
	j.close(']')
}

func (j *jsonWriter) registers(rs Registers) {
	j.open('{', true)
	for i := range rs {
		j.next()
		j.buf = append(appendJSONString(j.buf, rs[i].Name), ": \""...)
		j.buf = append(rs[i].Value.append(j.buf), '"')
	}
	j.close('}')
}

func (j *jsonWriter) location(k string, l Location) {
	if l.Register != "" {
		j.str(k, l.Register)
	} else {
		j.addr(k, l.Address)
	}
}
