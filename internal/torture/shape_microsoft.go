package main

import "encoding/binary"

// The shapes of Windows' formats, which are little-endian.

func u16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[at:]))
}

func u32(b []byte, at int) int {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[at:]))
}

// minidumpShape is that of a minidump: the directory, each stream, and what they lead to.
func minidumpShape(data []byte) *shape {
	s := &shape{}
	le := u32(data, 0) == 0x504d444d
	s.big = !le && len(data) > 4 && string(data[:4]) == "PMDM"
	rd := mutator{data: data, shape: s}
	get := func(at int) int { return int(rd.read(at, 4)) }
	part := func(off, n, step int, r role, choices []uint64) {
		n = min(n, len(data)-off)
		if off >= 0 && n > 0 {
			s.regions = append(s.regions, region{off, n})
			s.fields = append(s.fields, words(off, n, step, r, choices)...)
		}
	}
	part(0, 32, 4, roleNumber, nil)
	if string(data[:min(4, len(data))]) != "MDMP" && !s.big {
		s.regions = []region{{0, len(data)}} // a microdump
		return s
	}
	streams, dir := min(get(8), 64), get(12)
	var kinds, places []uint64
	for i := range streams {
		kinds = append(kinds, uint64(get(dir+12*i)))
		places = append(places, uint64(get(dir+12*i+8)))
	}
	for i := range streams {
		at := dir + 12*i
		if at+12 > len(data) {
			break
		}
		s.fields = append(s.fields, field{at, 4, roleCode, kinds}, field{at + 4, 4, roleNumber, nil}, field{at + 8, 4, roleRef, places})
		kind, size, off := get(at), get(at+4), get(at+8)
		part(off, min(size, 8192), 4, roleNumber, nil)
		n := min(get(off), 64)
		for j := range n {
			switch kind {
			case 3: // threads: stack and registers
				th := off + 4 + 48*j
				s.addrs = append(s.addrs, rd.read(th+24, 8))
				part(get(th+36), min(get(th+32), 4096), 8, roleAddr, nil)
				part(get(th+44), min(get(th+40), 2048), 8, roleAddr, nil)
			case 4: // modules: name and CodeView record
				m := off + 4 + 108*j
				s.addrs = append(s.addrs, rd.read(m, 8))
				part(get(m+20), 64, 2, roleNumber, nil)
				part(get(m+80), min(get(m+76), 256), 4, roleNumber, nil)
			case 5:
				s.addrs = append(s.addrs, rd.read(off+4+16*j, 8))
			}
		}
		if kind == 6 {
			part(get(off+164), min(get(off+160), 2048), 8, roleAddr, nil)
		}
	}
	return s
}

// peShape is that of a PE image: headers, section table, and the data directories.
func peShape(data []byte) *shape {
	s := &shape{}
	part := func(off, n, step int) {
		n = min(n, len(data)-off)
		if off >= 0 && n > 0 {
			s.regions = append(s.regions, region{off, n})
			s.fields = append(s.fields, words(off, n, step, roleNumber, nil)...)
		}
	}
	pe := u32(data, 0x3c)
	part(0x3c, 4, 4)
	part(pe, 24, 2)
	opt, optSize, sections := pe+24, u16(data, pe+20), min(u16(data, pe+6), 96)
	part(opt, optSize, 4)
	part(opt, optSize, 2)
	table := opt + optSize
	part(table, 40*sections, 4)
	place := func(rva int) int {
		for i := range sections {
			at := table + 40*i
			if d := rva - u32(data, at+12); d >= 0 && d < u32(data, at+16) {
				return u32(data, at+20) + d
			}
		}
		return -1
	}
	dirs := opt + 96
	if u16(data, opt) == 0x20b {
		dirs = opt + 112
	}
	for i := range 16 {
		if at := dirs + 8*i; at+8 <= table {
			part(place(u32(data, at)), min(u32(data, at+4), 8192), 4)
		}
	}
	// Unwind information, and what else is in the sections.
	for i := range sections {
		at := table + 40*i
		off, n := u32(data, at+20), u32(data, at+16)
		if off <= 0 || off >= len(data) {
			continue
		}
		n = min(n, len(data)-off)
		s.regions = append(s.regions, region{off, n})
		switch name := string(data[at:min(at+6, len(data))]); name {
		case ".xdata", ".pdata":
			s.fields = append(s.fields, words(off, min(n, 8192), 4, roleNumber, nil)...)
			s.fields = append(s.fields, words(off, min(n, 8192), 1, roleCode, nil)...)
		}
	}
	// Sections of DWARF that MinGW writes have names in the string table; their beginnings are shaped like any bytes.
	return s
}

// pdbShape is that of a program database: the container's blocks, and the records of its streams.
func pdbShape(data []byte) *shape {
	s := &shape{}
	block := u32(data, 32)
	if block < 512 || block > 1<<16 {
		return s
	}
	s.fields = words(32, 24, 4, roleNumber, nil)
	s.regions = append(s.regions, region{0, 56})
	// file returns where byte at of a stream is.
	file := func(blocks []int, at int) int {
		if at < 0 || at/block >= len(blocks) {
			return -1
		}
		return blocks[at/block]*block + at%block
	}
	var list []int
	for i := range (u32(data, 44) + block - 1) / block {
		at := u32(data, 52)*block + 4*i
		list = append(list, u32(data, at))
		s.fields = append(s.fields, field{at, 4, roleRef, []uint64{0, 1, 2, uint64(u32(data, 52))}})
	}
	dir := func(at int) int { return u32(data, file(list, at)) }
	for at := 0; at < min(u32(data, 44), 16<<10); at += 4 {
		if off := file(list, at); off >= 0 && off+4 <= len(data) {
			s.fields = append(s.fields, field{off, 4, roleNumber, []uint64{0, 1, 2, 3}})
		}
	}
	count := min(dir(0), 1024)
	next := 4 + 4*count
	for i := range count {
		size := dir(4 + 4*i)
		if size == 0xffffffff {
			size = 0
		}
		var blocks []int
		for range (size + block - 1) / block {
			blocks = append(blocks, dir(next))
			next += 4
		}
		s.stream(data, i, size, func(at int) int { return file(blocks, at) })
	}
	return s
}

// stream adds the fields of one stream of a program database.
func (s *shape) stream(data []byte, number, size int, file func(int) int) {
	add := func(at, n int, r role, choices []uint64) {
		off, last := file(at), file(at+n-1)
		if off >= 0 && last == off+n-1 && last < len(data) && len(s.fields) < maxFields {
			s.fields = append(s.fields, field{off, n, r, choices})
		}
	}
	first := 64
	records := number == 2 || number == 4 || number > 4 // types, identifiers, symbols of modules
	if number == 3 {
		first = min(size, 16<<10)
	}
	for at := 0; at+4 <= min(size, first); at += 4 {
		add(at, 4, roleNumber, nil)
		add(at, 2, roleNumber, nil)
	}
	if off := file(0); off >= 0 && off < len(data) {
		s.regions = append(s.regions, region{off, min(size, 4096, len(data)-off)})
	}
	if !records {
		return
	}
	at := 4 // after the signature of a module's symbols
	var types []uint64
	var lowest uint64
	if number == 2 || number == 4 {
		at = u32(data, file(4))
		low, high := u32(data, file(8)), u32(data, file(12))
		lowest = uint64(low)
		for i := low; i < high && len(types) < 1<<14; i++ {
			types = append(types, uint64(i))
		}
	}
	kinds := []uint64{0x1001, 0x1002, 0x1008, 0x1009, 0x1201, 0x1203, 0x1205, 0x1502, 0x1503, 0x1504, 0x1505, 0x1506, 0x1507, 0x1509, 0x150d, 0x150e, 0x1510, 0x1511}
	if types == nil {
		kinds = []uint64{6, 0x1012, 0x1101, 0x1102, 0x1103, 0x1105, 0x1107, 0x1108, 0x110b, 0x110c, 0x110d, 0x110e, 0x110f, 0x1110, 0x1111, 0x1124, 0x113c,
			0x113e, 0x1141, 0x1142, 0x1143, 0x1144, 0x1145, 0x114d, 0x114e, 0x114f}
	}
	for n := 0; at+4 <= size && n < 1<<15; n++ {
		off := file(at)
		length := u16(data, off)
		if off < 0 || length < 2 {
			return
		}
		add(at, 2, roleNumber, nil)
		add(at+2, 2, roleCode, kinds)
		choices := types
		if types != nil && n%2 == 0 { // cycles: the type itself and those beside it
			self := lowest + uint64(n)
			choices = []uint64{self, self, self + 1, self - 1, self + 2}
		}
		for i := at + 4; i+4 <= min(at+2+length, at+48); i += 4 {
			add(i, 4, roleRef, choices)
			if (i-at)%8 == 0 {
				add(i, 2, roleNumber, nil)
			}
		}
		at += 2 + length
	}
}
