package python

// lnotab returns the line of an instruction as versions up to 3.9 write it: pairs of bytes, by how much
// the offset and the line grow.
func lnotab(table []byte, first, offset int) int {
	line, at := first, 0
	for i := 0; i+1 < len(table); i += 2 {
		if at += int(table[i]); at > offset {
			break
		}
		line += int(int8(table[i+1]))
	}
	return line
}

// lineTable returns the line of an instruction as 3.10 writes it: pairs of the length of a range and by how much
// its line differs from that of the one before; 0 for code without a line.
func lineTable(table []byte, first, offset int) int {
	if offset < 0 {
		return first
	}
	line, at := first, 0
	for i := 0; i+1 < len(table); i += 2 {
		delta, has := int(int8(table[i+1])), table[i+1] != 0x80
		if has {
			line += delta
		}
		if at += int(table[i]); at > offset {
			if !has {
				return 0
			}
			return line
		}
	}
	return 0
}

// locations returns the line and the column, from 1, of an instruction as versions from 3.11 on write them: an entry
// for each range of units of two bytes. Zeros are for code without a line.
func locations(table []byte, first, unit int) (line, column int) {
	if unit < 0 {
		return first, 0
	}
	line, at, i := first, 0, 0
	next := func() int {
		if i >= len(table) {
			return 0
		}
		i++
		return int(table[i-1])
	}
	varint := func() int {
		v := 0
		for shift := 0; shift < 36; shift += 6 {
			b := next()
			v |= (b & 0x3f) << shift
			if b&0x40 == 0 {
				break
			}
		}
		return v
	}
	signed := func() int {
		v := varint()
		if v&1 != 0 {
			return -(v >> 1)
		}
		return v >> 1
	}
	for i < len(table) {
		b := next()
		if b&0x80 == 0 {
			return 0, 0 // damaged
		}
		form, length := b>>3&15, b&7+1
		col := 0
		switch {
		case form < 10:
			col = form<<3 | next()>>4&7 + 1
		case form < 13:
			line += form - 10
			col = next() + 1
			next()
		case form == 13:
			line += signed()
		case form == 14:
			line += signed()
			varint()
			col = varint()
			varint()
		}
		if at += length; at > unit {
			if form == 15 {
				return 0, 0
			}
			return line, col
		}
	}
	return 0, 0
}
