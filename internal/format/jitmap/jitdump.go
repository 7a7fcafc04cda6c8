package jitmap

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What jitdump files have, by tools/perf/Documentation/jitdump-specification.txt of Linux.
const (
	magic      = 0x4a695444 // "JiTD"
	headerSize = 40
	recordHead = 16

	recordLoad   = 0 // JIT_CODE_LOAD
	recordMove   = 1 // JIT_CODE_MOVE
	recordDebug  = 2 // JIT_CODE_DEBUG_INFO
	recordClose  = 3 // JIT_CODE_CLOSE
	recordUnwind = 4 // JIT_CODE_UNWINDING_INFO
)

// IsJitdump reports whether data begins like a jitdump file.
func IsJitdump(data []byte) bool {
	return len(data) >= headerSize && (binary.LittleEndian.Uint32(data) == magic || binary.BigEndian.Uint32(data) == magic)
}

// A dump is a jitdump file that is being read.
type dump struct {
	Map
	order binary.ByteOrder
	debug map[uint64]int32 // index of the lines of code that comes later, by its address
	byPos map[uint64]int   // by its address, the last record of the code there
	next  piece            // the unwind table of the code that comes next
	// Of how many functions the first line is textOffset behind their beginning, or further, and of how many it is not.
	high, low int
}

// ParseJitdump reads a jitdump file. The Functions refer to data. What follows a damaged record is left out: Damaged says so; the last
// record may have been cut off while it was written.
func ParseJitdump(data []byte) (*Map, error) { return parseDump(data, maxRecords) }

func parseDump(data []byte, most int) (*Map, error) {
	if !IsJitdump(data) {
		return nil, errors.New("not a jitdump file: it does not begin with JiTD")
	}
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	d := &dump{order: binary.LittleEndian, debug: map[uint64]int32{}, byPos: map[uint64]int{}}
	d.data, d.list = data, make([]record, 0, min(len(data)/256, most))
	if d.order.Uint32(data) != magic {
		d.order = binary.BigEndian
	}
	head := uint64(d.order.Uint32(data[8:]))
	d.PID = d.order.Uint32(data[20:])
	if v := d.order.Uint32(data[4:]); v != 1 {
		return nil, fmt.Errorf("jitdump file of version %d: version 1 is known", v)
	}
	if head < headerSize || head > uint64(len(data)) {
		return nil, fmt.Errorf("jitdump file: the header has %d bytes, the file %d", head, len(data))
	}
	at := head
	for uint64(len(data))-at >= recordHead {
		id, size := d.order.Uint32(data[at:]), uint64(d.order.Uint32(data[at+4:]))
		if size < recordHead {
			d.Damaged = fmt.Errorf("record at %d: it has %d bytes, and a record has at least %d", at, size, recordHead)
			break
		}
		if size > uint64(len(data))-at || id == recordClose {
			break
		}
		if len(d.list) >= most || len(d.lines) >= most || len(d.tables) >= most {
			d.Damaged = fmt.Errorf("of its functions only the first %d are read", most)
			break
		}
		if !d.record(id, at+recordHead, data[at+recordHead:at+size]) && d.Damaged == nil {
			d.Damaged = fmt.Errorf("record at %d: it is damaged", at)
		}
		at += size
	}
	if d.high > 8*d.low { // in others, nearly every function has a line where it begins
		d.shift = textOffset
	}
	m := d.Map
	m.index()
	return &m, nil
}

// record reads a record, b, without its head, which is in the file at at; false if it is damaged.
func (d *dump) record(id uint32, at uint64, b []byte) bool {
	switch id {
	case recordLoad:
		return d.load(at, b)
	case recordMove:
		return d.move(b)
	case recordDebug:
		return d.debugInfo(b)
	case recordUnwind:
		return d.unwindInfo(at, b)
	}
	return true
}

// load reads pid and tid, u32; vma, address, size and index, u64; the name; the code.
func (d *dump) load(at uint64, b []byte) bool {
	const fixed = 40
	table := d.next
	d.next = piece{}
	if len(b) < fixed {
		return false
	}
	addr, size := d.order.Uint64(b[16:]), d.order.Uint64(b[24:])
	name, code, ok := cString(b[fixed:])
	if !ok || size > uint64(len(code)) {
		return false
	}
	n := uint32(len(name))
	r := record{start: addr, size: size, name: uint32(at) + fixed, nameLen: n, code: uint32(at) + fixed + n + 1, lines: -1, table: -1}
	if i, ok := d.debug[addr]; ok {
		r.lines = i
		delete(d.debug, addr)
		d.measure(&d.lines[i], addr)
	}
	if table.len > 0 {
		r.table = int32(len(d.tables))
		d.tables = append(d.tables, table)
	}
	if !d.add(r) {
		return false
	}
	d.byPos[addr] = len(d.list) - 1
	return true
}

// move reads pid and tid, u32; vma, old and new address, size and index, u64. The code may differ in what depends on where it is.
func (d *dump) move(b []byte) bool {
	if len(b) < 48 {
		return false
	}
	from, to := d.order.Uint64(b[16:]), d.order.Uint64(b[24:])
	i, ok := d.byPos[from]
	if !ok {
		return true // of code that is not recorded
	}
	r := d.list[i]
	if r.start = to; r.lines >= 0 {
		l := d.lines[r.lines]
		l.moved += to - from
		r.lines = int32(len(d.lines))
		d.lines = append(d.lines, l)
	}
	if !d.add(r) {
		return false
	}
	delete(d.byPos, from)
	d.byPos[to] = len(d.list) - 1
	return true
}

// cString returns what is before the first zero byte, and what is after it.
func cString(b []byte) (s, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}
