package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A pdbMade is a program database being made, of the module of winDump. It has one module, whose code is the image's.
type pdbMade struct {
	symbols []byte   // of the module: one function, which end ends
	tables  []byte   // of its lines and inlined functions
	types   [][]byte // from firstType on
	publics [][]byte
	lie     func(dbi, types []byte) // of their headers, at last
}

const (
	firstType = 0x1000
	pdbBlock  = 4096

	cvEnd, cvConstant, cvRegRel, cvBlock, cvProc, cvPublic, cvInlineSite = 6, 0x1107, 0x1111, 0x1103, 0x1110, 0x110e, 0x114d

	cvModifier, cvPointer, cvArray, cvStruct, cvFields, cvArgs, cvProcedure = 0x1001, 0x1002, 0x1503, 0x1505, 0x1203, 0x1201, 0x1008
)

// cv makes a record of CodeView: numbers of 32 and 16 bits, texts, bytes.
func cv(kind uint16, fields ...any) []byte {
	b := binary.LittleEndian.AppendUint16(make([]byte, 2), kind)
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(f))
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, f)
		case string:
			b = append(b, str(f)...)
		case []byte:
			b = append(b, f...)
		}
	}
	b = append(b, make([]byte, -len(b)&3)...)
	binary.LittleEndian.PutUint16(b, uint16(len(b)-2))
	return b
}

func (p *pdbMade) symbol(kind uint16, fields ...any) {
	p.symbols = append(p.symbols, cv(kind, fields...)...)
}

// function begins the function, which says that it has size bytes and where its records end.
func (p *pdbMade) function(size, end int, name string) {
	p.symbol(cvProc, 0, end, 0, size, 0, size, firstType, 0, uint16(1), []byte{0}, name)
}

// variable adds one at rsp.
func (p *pdbMade) variable(typ int, name string) { p.symbol(cvRegRel, 0, typ, uint16(335), name) }

func (p *pdbMade) typ(kind uint16, fields ...any) int {
	p.types = append(p.types, cv(kind, fields...))
	return firstType + len(p.types) - 1
}

func (p *pdbMade) lines(b []byte) {
	p.tables = append(append(p.tables, le32(0xf2, uint32(len(b)))...), b...)
}

func (p *pdbMade) bytes() []byte {
	le := binary.LittleEndian
	var streams [][]byte
	add := func(b []byte) int { streams = append(streams, b); return len(streams) - 1 }
	for range 5 {
		add(nil)
	}
	if p.symbols != nil && le.Uint32(p.symbols[8:]) == 0 {
		le.PutUint32(p.symbols[8:], uint32(4+len(p.symbols)))
	}
	symbols := append(le32(4), append(p.symbols, cv(cvEnd)...)...)
	tables := append(p.tables, le32(0xf4, 8, 1, 0)...)
	module := add(append(slices.Clone(symbols), tables...))
	var records, addrs []byte
	for _, r := range p.publics {
		addrs = append(addrs, le32(uint32(len(records)))...)
		records = append(records, r...)
	}
	recordStream := add(records)
	publicStream := add(append(append(le32(0, uint32(len(addrs)), 0, 0, 0, 0, 0), addrs...), 0))
	names := add(append(le32(0xeffeeffe, 1, 16), "\x00file.cpp\x00\x00\x00\x00\x00\x00\x00"...))
	section := make([]byte, 40)
	copy(section, ".text")
	copy(section[8:], le32(scanCode, peText, scanCode, peText))
	sections := add(section)
	info := le32(20000404, 1, 5)
	streams[1] = append(append(append(append(info, madeGUID...), le32(7)...), "/names\x00"...), le32(1, 1, 1, 1, 0, 0, uint32(names), 0, 0)...)
	var types []byte
	for _, t := range p.types {
		types = append(types, t...)
	}
	streams[2] = append(le32(20040203, 56, firstType, uint32(firstType+len(p.types)), uint32(len(types)), 0xffffffff, 4, 0x3ffff, 0, 0, 0, 0, 0, 0), types...)
	streams[4] = le32(20040203, 56, firstType, firstType, 0, 0xffffffff, 4, 0x3ffff, 0, 0, 0, 0, 0, 0)
	mod := make([]byte, 64)
	le.PutUint16(mod[34:], uint16(module))
	copy(mod[36:], le32(uint32(len(symbols)), 0, uint32(len(tables))))
	mod = append(mod, "a.obj\x00a.lib\x00"...)
	contribs := append(le32(0xeffe0000+19970605), le32(1, 0, scanCode, 0x60000020, 0, 0, 0)...)
	dbi := le32(0xffffffff, 19990903, 5, 0xffff, uint32(publicStream), uint32(recordStream), uint32(len(mod)), uint32(len(contribs)), 0, 0, 0, 0, 22, 0, 0x86640000, 0)
	dbi = append(append(dbi, mod...), contribs...)
	for i := range 11 {
		stream := uint16(0xffff)
		if i == 5 {
			stream = uint16(sections)
		}
		dbi = le.AppendUint16(dbi, stream)
	}
	streams[3] = dbi
	if p.lie != nil {
		p.lie(dbi, streams[2])
	}
	out, dir, blocks := make([]byte, 3*pdbBlock), le32(uint32(len(streams))), []byte(nil)
	put := func(b []byte) (list []byte) {
		for at := 0; at < len(b); at += pdbBlock {
			list = append(list, le32(uint32(len(out)/pdbBlock))...)
			out = append(append(out, b[at:min(at+pdbBlock, len(b))]...), make([]byte, max(0, at+pdbBlock-len(b)))...)
		}
		return list
	}
	for _, s := range streams {
		dir = append(dir, le32(uint32(len(s)))...)
		blocks = append(blocks, put(s)...)
	}
	dir = append(dir, blocks...)
	at := uint32(len(out)/pdbBlock) + uint32((len(dir)+pdbBlock-1)/pdbBlock)
	put(put(dir))
	copy(out, "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	copy(out[32:], le32(pdbBlock, 1, uint32(len(out)/pdbBlock), uint32(len(dir)), 0, at))
	return out
}

// madePDBs are databases for the module of winDump.
var madePDBs = map[string]func(p *pdbMade){
	"a function": func(p *pdbMade) { p.function(scanCode, 0, "function") },
	"variables of frames": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		for i := range 100_000 {
			p.variable(0x74, fmt.Sprint("v", i))
		}
	},
	"types in a circle": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		p.typ(cvModifier, firstType, uint16(0))
		p.typ(cvArray, firstType+1, 0x74, uint16(8), "")
		p.typ(cvPointer, firstType+2, 0x1000c)
		p.typ(cvArgs, math.MaxInt32, firstType+3)
		p.typ(cvProcedure, firstType+4, uint16(0), uint16(9), firstType+3)
		p.typ(cvFields, []byte{0x00, 0x14, 3, 0}, firstType+6, uint16(0), []byte{0x0d, 0x15, 3, 0}, firstType+6, uint16(0), "again")
		p.typ(cvStruct, uint16(2), uint16(0), firstType+5, 0, 0, uint16(8), "self")
		p.typ(cvModifier, firstType+8, uint16(0)) // two that are one another
		p.typ(cvModifier, firstType+7, uint16(0))
		for i := range 100 {
			p.variable(firstType+i%9, fmt.Sprint("v", i))
		}
	},
	"members in a circle": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		list := p.typ(cvFields, []byte{0x0d, 0x15, 3, 0}, 0x74, uint16(0), strings.Repeat("m", 60_000), []byte{0xf2, 0xf1}, []byte{0x04, 0x14, 0, 0}, firstType)
		wide := p.typ(cvStruct, uint16(math.MaxUint16), uint16(0), list, 0, 0, uint16(8), "wide")
		for i := range 100 {
			p.variable(wide, fmt.Sprint("v", i))
		}
	},
	"classes that are only declared": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		for range 300_000 {
			p.typ(cvStruct, uint16(0), uint16(0x80), 0, 0, 0, uint16(0), "s")
		}
		for i := range 100 {
			p.variable(firstType+i, fmt.Sprint("v", i))
		}
	},
	"scopes without an end": func(p *pdbMade) {
		p.function(scanCode, math.MaxInt32, "function")
		for range 1_000_000 {
			p.symbol(cvBlock, 0, math.MaxInt32, scanCode, 0, uint16(1), "b")
		}
		p.variable(0x74, "deep")
	},
	"scopes that end where they begin": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		for range 300_000 {
			p.symbol(cvBlock, 4, 4, scanCode, 0, uint16(1), "b")
			p.variable(0x74, "v")
		}
	},
	"scopes of a function of all frames": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		for i := range 8000 {
			p.symbol(cvBlock, 4, 4, scanCode, 0, uint16(1), "b")
			p.variable(0x74+i%2, "v")
		}
	},
	"functions of two billion bytes": func(p *pdbMade) {
		for range 100_000 {
			p.function(math.MaxInt32, math.MaxInt32, "function")
		}
	},
	"functions that end in one another": func(p *pdbMade) {
		for i := range 100_000 {
			p.function(scanCode, 4+44*(i/2), "f")
		}
	},
	"inlined calls within one another": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		for range 500_000 {
			p.symbol(cvInlineSite, 0, 0, firstType, []byte{3, 1, 4, 0x80, 0xff, 0, 0, 0})
		}
	},
	"lines of one function": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		const n = 1_000_000
		b := le32(0, 1, scanCode, 0, n, 12+8*n)
		for i := range uint32(n) {
			b = append(b, le32(i%scanCode, i|1<<31)...)
		}
		p.lines(b)
	},
	"tables of lines over one another": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		for range 200_000 {
			p.lines(le32(0, 1, scanCode, 0, math.MaxInt32, 20, 0, 1<<31|7))
		}
	},
	"long names": func(p *pdbMade) {
		p.function(scanCode, 0, strings.Repeat("n", 65_000))
		for range 1000 {
			p.variable(0x74, strings.Repeat("v", 65_000))
		}
	},
	"public symbols of one address": func(p *pdbMade) {
		for range 500_000 {
			p.publics = append(p.publics, cv(cvPublic, 2, 0, uint16(1), "?public@@YAXXZ"))
		}
	},
	"public symbols of long names": func(p *pdbMade) {
		for i := range 1000 {
			p.publics = append(p.publics, cv(cvPublic, 2, i*(scanCode/1000), uint16(1), strings.Repeat("n", 65_000)))
		}
	},
	"two billion of everything": func(p *pdbMade) {
		p.function(scanCode, 0, "function")
		p.typ(cvPointer, 0x74, 0x1000c)
		p.variable(firstType, "v")
		p.lie = func(_, types []byte) { copy(types[12:], le32(math.MaxInt32)) }
	},
}

// madePDBReady damages the database.
func madePDBReady(name, dir string) (*ready, error) {
	p := &pdbMade{}
	madePDBs[name](p)
	image := newPE().bytes()
	return searchedReady(winDump(uint32(len(image)+0xfff)&^0xfff, nil), map[string][]byte{"m.dll": image, "m.pdb": p.bytes()}, "m.pdb", pdbShape, dir)
}
