package decompress

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"math/bits"

	"github.com/corewalk/corewalk/internal/lazy"
)

// An inflater decompresses a zlib stream (RFC 1950, RFC 1951) that is whole in memory into
// memory of the right size. It keeps no window, since what it wrote is the window, and reads
// no byte twice; so it is faster than a reader of streams, and can stop after any symbol.
type inflater struct {
	in   []byte
	pos  int    // of the next byte of in
	bits uint64 // taken from in, the next one lowest
	n    uint   // the number of valid bits
	out  []byte // all of it; below w is written
	w    int

	block  blockKind
	final  bool // the block is the last one
	stored int  // bytes that a stored block still has
	lit    codeTable
	dist   codeTable
}

type blockKind uint8

const (
	blockNone blockKind = iota // a header comes next
	blockStored
	blockCodes
	blockEnd // the stream has ended, with the right checksum
)

var (
	errDeflate  = errors.New("not a deflate stream")
	errChecksum = errors.New("wrong checksum")
)

// newInflater checks the header of in. out is what it decompresses into.
func newInflater(in, out []byte) (*inflater, error) {
	const deflate, dictionary = 8, 0x20
	if len(in) < 2 {
		return nil, io.ErrUnexpectedEOF
	}
	if in[0]&15 != deflate || in[0]>>4 > 7 || in[1]&dictionary != 0 || binary.BigEndian.Uint16(in)%31 != 0 {
		return nil, errDeflate
	}
	return &inflater{in: in, pos: 2, out: out}, nil
}

// fill decompresses at least as far as end, or to the end of the stream. If end is the length of
// out, the stream must end there.
func (z *inflater) fill(end int) error {
	for z.block != blockEnd && (z.w < end || end == len(z.out)) {
		var err error
		switch z.block {
		case blockNone:
			err = z.header()
		case blockStored:
			err = z.copyStored()
		case blockCodes:
			err = z.codes(end)
		}
		if err != nil {
			return err
		}
		if z.block == blockNone && z.final {
			return z.trailer()
		}
	}
	return nil
}

// refill has at least 56 bits afterwards, or all that there are.
func (z *inflater) refill() {
	if z.pos+8 <= len(z.in) {
		z.bits |= binary.LittleEndian.Uint64(z.in[z.pos:]) << z.n
		z.pos += int((63 - z.n) >> 3)
		z.n |= 56
		return
	}
	for z.n <= 56 && z.pos < len(z.in) {
		z.bits |= uint64(z.in[z.pos]) << z.n
		z.pos++
		z.n += 8
	}
}

// take returns the next count bits, at most 32.
func (z *inflater) take(count uint) (uint, error) {
	if z.n < count {
		if z.refill(); z.n < count {
			return 0, io.ErrUnexpectedEOF
		}
	}
	v := uint(z.bits & (1<<count - 1))
	z.bits >>= count
	z.n -= count
	return v, nil
}

// align drops the bits before the next whole byte.
func (z *inflater) align() {
	z.bits >>= z.n & 7
	z.n &^= 7
}

// unread gives whole bytes back to in.
func (z *inflater) unread() {
	z.pos -= int(z.n / 8)
	z.bits, z.n = 0, 0
}

// header reads the header of a block.
func (z *inflater) header() error {
	v, err := z.take(3)
	if err != nil {
		return err
	}
	z.final = v&1 != 0
	switch v >> 1 {
	case 0:
		z.align()
		z.unread()
		if len(z.in)-z.pos < 4 {
			return io.ErrUnexpectedEOF
		}
		size := binary.LittleEndian.Uint16(z.in[z.pos:])
		if ^size != binary.LittleEndian.Uint16(z.in[z.pos+2:]) {
			return errDeflate
		}
		z.pos += 4
		z.stored, z.block = int(size), blockStored
		return nil
	case 1:
		return z.fixedCodes()
	case 2:
		return z.dynamicCodes()
	}
	return errDeflate
}

func (z *inflater) copyStored() error {
	if len(z.in)-z.pos < z.stored {
		return io.ErrUnexpectedEOF
	}
	if len(z.out)-z.w < z.stored {
		return errSize
	}
	copy(z.out[z.w:], z.in[z.pos:z.pos+z.stored])
	z.w += z.stored
	z.pos += z.stored
	z.block = blockNone
	return nil
}

// trailer checks the checksum.
func (z *inflater) trailer() error {
	z.align()
	z.unread()
	if z.w != len(z.out) {
		return errSize
	}
	if len(z.in)-z.pos < 4 {
		return io.ErrUnexpectedEOF
	}
	if binary.BigEndian.Uint32(z.in[z.pos:]) != adler32.Checksum(z.out) {
		return errChecksum
	}
	z.block = blockEnd
	return nil
}

// An entry of a codeTable says in its bits 0 to 5 how many bits a symbol takes, those of its code
// and extra ones after it; in bits 8 to 11 the number of those of the code; and in bits 16 to 30
// a value: a literal, or the least length or distance, to which the extra bits are added.
const (
	entryLiteral = 1 << 31
	entryRare    = 1 << 15 // none of the three: one of the next two, or no code
	entryMore    = 1 << 14 // a second table begins at the value
	entryEnd     = 1 << 13 // of the block
	entryBits    = 63
	codeShift    = 8
	codeBits     = 15
	valueShift   = 16
)

const (
	maxMatch = 258
	// slack is how far from the end of out no match writes past it: it is copied in words.
	slack = maxMatch + 8 + 3
)

// codes decompresses a block's symbols until end is reached or the block has ended.
func (z *inflater) codes(end int) error {
	if err := z.fast(min(end, len(z.out)-slack)); err != nil || z.block != blockCodes {
		return err
	}
	return z.careful(end)
}

// fast decompresses symbols until end is reached, the block has ended, or the input nearly so.
//
// The entry of the next symbol is looked up before a match is copied, so that the processor does both at the same
// time. Matches are short: two words are copied without asking, which is cheaper than a loop whose end is not foreseen.
// Of n only the low six bits are kept right while symbols are taken, so that whole entries can be subtracted.
func (z *inflater) fast(end int) error {
	in, out, bits, n, pos, w := z.in, z.out, z.bits, z.n, z.pos, z.w
	if w >= end || pos+8 > len(in) {
		return nil
	}
	var err error
	safe := len(in) - 2*8 // a round reads eight bytes twice
	bits |= get64(in, pos) << (n & 63)
	pos += int((63 - n) >> 3)
	n |= 56
	for e := z.lit.first[bits&(1<<litBits-1)]; w < end && pos <= safe; {
		if e&entryLiteral != 0 { // of the 56 bits that there are, three codes of the first table take 33; a match takes 48
			to := out[w : w+4 : w+4]
			bits >>= e & entryBits
			n -= uint(e)
			to[0] = byte(e >> valueShift)
			w++
			e = z.lit.first[bits&(1<<litBits-1)]
			if e&entryLiteral != 0 {
				bits >>= e & entryBits
				n -= uint(e)
				to[1] = byte(e >> valueShift)
				w++
				e = z.lit.first[bits&(1<<litBits-1)]
				if e&entryLiteral != 0 {
					bits >>= e & entryBits
					n -= uint(e)
					to[2] = byte(e >> valueShift)
					w++
					bits |= get64(in, pos) << (n & 63)
					pos += 7 - int(n>>3&7)
					n |= 56
					e = z.lit.first[bits&(1<<litBits-1)]
					continue
				}
			}
			bits |= get64(in, pos) << (n & 63)
			pos += 7 - int(n>>3&7)
			n |= 56
		}
		if e&entryRare != 0 {
			if e&entryMore != 0 {
				e = z.lit.second(e, bits>>litBits)
			}
			if e&entryRare != 0 {
				if e&entryEnd == 0 {
					err = errDeflate
					break
				}
				bits >>= e & entryBits
				n -= uint(e)
				z.block = blockNone
				break
			}
			if e&entryLiteral != 0 {
				bits >>= e & entryBits
				n -= uint(e)
				out[w] = byte(e >> valueShift)
				w++
				bits |= get64(in, pos) << (n & 63)
				pos += 7 - int(n>>3&7)
				n |= 56
				e = z.lit.first[bits&(1<<litBits-1)]
				continue
			}
		}
		was := bits
		bits >>= e & entryBits
		n -= uint(e)
		d := z.dist.first[bits&(1<<distBits-1)]
		size := e.value(was)
		if d&entryRare != 0 {
			if d&entryMore != 0 {
				d = z.dist.second(d, bits>>distBits)
			}
			if d&entryRare != 0 {
				err = errDeflate
				break
			}
		}
		was = bits
		bits >>= d & entryBits
		n -= uint(d)
		bits |= get64(in, pos) << (n & 63)
		e = z.lit.first[bits&(1<<litBits-1)]
		pos += 7 - int(n>>3&7)
		n |= 56
		back := d.value(was)
		if back > w {
			err = errDeflate
			break
		}
		from := w - back
		if back < 8 {
			to := out[w : w+size]
			for i := range to {
				to[i] = out[from+i]
			}
		} else { // slack makes room for that
			put64(out, w, get64(out, from))
			put64(out, w+8, get64(out, from+8))
			for i := 16; i < size; i += 8 {
				put64(out, w+i, get64(out, from+i))
			}
		}
		w += size
	}
	z.bits, z.n, z.pos, z.w = bits, n&63, pos, w
	return err
}

// get64 and put64 say what the capacity is, so that the compiler need not think of a slice that ends where b does.
func get64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8 : i+8]) }

func put64(b []byte, i int, v uint64) { binary.LittleEndian.PutUint64(b[i:i+8:i+8], v) }

// careful decompresses symbols one by one, wherever they are.
func (z *inflater) careful(end int) error {
	out := z.out
	for z.w < end || end == len(out) {
		z.refill() // enough for all of a match
		e := z.lit.find(z.bits, litBits)
		bits := z.bits
		if err := z.drop(e); err != nil {
			return err
		}
		switch {
		case e&entryLiteral != 0:
			if z.w == len(out) {
				return errSize
			}
			out[z.w] = byte(e >> valueShift)
			z.w++
			continue
		case e&entryEnd != 0:
			z.block = blockNone
			return nil
		case e&entryRare != 0:
			return errDeflate
		}
		size := e.value(bits)
		d := z.dist.find(z.bits, distBits)
		bits = z.bits
		if err := z.drop(d); err != nil {
			return err
		}
		back := d.value(bits)
		switch {
		case d&entryRare != 0, back > z.w:
			return errDeflate
		case size > len(out)-z.w:
			return errSize
		}
		for range size {
			out[z.w] = out[z.w-back]
			z.w++
		}
	}
	return nil
}

// drop takes a symbol's bits.
func (z *inflater) drop(e entry) error {
	count := uint(e & entryBits)
	if count > z.n {
		return io.ErrUnexpectedEOF
	}
	z.bits >>= count
	z.n -= count
	return nil
}

// An entry is what a codeTable has for a symbol.
type entry uint32

// value adds the extra bits.
func (e entry) value(bits uint64) int {
	return int(e>>valueShift) + int(bits&(1<<(e&entryBits)-1)>>(e>>codeShift&codeBits))
}

// Sizes of the first tables' indices, in bits: larger ones take longer to build than they save.
const (
	litBits  = 11
	distBits = 8
	// lengthBits is how long the codes of codes' lengths are, at most.
	lengthBits = 7
)

// A codeTable decodes a prefix code: the next bits are an index into the first table; longer codes
// continue in others.
type codeTable struct {
	first [1 << litBits]entry // of distances, less is used
	more  []entry
	mask  uint64 // of an index into one of the others
}

const maxCode = 15

// second follows an entry to another table. bits are those after the index into the first.
func (t *codeTable) second(e entry, bits uint64) entry {
	return t.more[uint64(e>>valueShift)+bits&t.mask]
}

// find returns the entry of the next symbol.
func (t *codeTable) find(bits uint64, primary uint) entry {
	e := t.first[bits&(1<<primary-1)]
	if e&entryMore != 0 {
		e = t.second(e, bits>>primary)
	}
	return e
}

// build makes the tables for codes of these lengths, 0 for symbols without a code. symbols has
// what their entries have beside the code's length. Codes that overlap are errors, and so are
// sets that leave something out, but for a single code of one bit, as zlib has it.
func (t *codeTable) build(lengths []uint8, primary uint, symbols []entry) error {
	var count, next [maxCode + 2]int
	longest := uint(0)
	for _, l := range lengths {
		count[l]++
		longest = max(longest, uint(l))
	}
	count[0] = 0
	code := 0
	for l := 1; l <= maxCode; l++ {
		code = (code + count[l-1]) << 1
		next[l] = code
	}
	complete := code+count[maxCode] == 1<<maxCode
	if code+count[maxCode] > 1<<maxCode || !complete && longest > 1 {
		return errDeflate
	}
	first := t.first[:1<<primary]
	if !complete {
		for i := range first {
			first[i] = entryRare | 1
		}
	}
	t.more = t.more[:0]
	rest := uint(0)
	if longest > primary {
		rest = longest - primary
		for i := range first { // where those tables begin is not known yet
			first[i] = 0
		}
	}
	t.mask = 1<<rest - 1
	for s, l := range lengths {
		if l == 0 {
			continue
		}
		c := reverse(uint(next[l]), uint(l))
		next[l]++
		e := symbols[s] + entry(l)<<codeShift + entry(l)
		if uint(l) <= primary {
			for at := c; at < uint(len(first)); at += 1 << l {
				first[at] = e
			}
			continue
		}
		to := &first[c&(1<<primary-1)]
		if *to == 0 {
			*to = entry(len(t.more))<<valueShift | entryRare | entryMore
			t.more = append(t.more, make([]entry, 1<<rest)...)
		}
		table := t.more[*to>>valueShift:][:1<<rest]
		for at := c >> primary; at < uint(len(table)); at += 1 << (uint(l) - primary) {
			table[at] = e
		}
	}
	return nil
}

// reverse reverses the low n bits of code: in the stream the first bit is the lowest.
func reverse(code, n uint) uint { return uint(bits.Reverse16(uint16(code))) >> (16 - n) }

// symbols are the entries of all symbols, but for what their codes add.
var symbols = lazy.Value[*alphabets]{Make: func() *alphabets {
	a := new(alphabets)
	for s := range entry(len(a.lit)) {
		a.lit[s] = litSymbol(s)
	}
	for s := range entry(len(a.dist)) {
		a.dist[s] = distSymbol(s)
	}
	for s := range entry(len(a.lengths)) {
		a.lengths[s] = s << valueShift
	}
	return a
}}

type alphabets struct {
	lit     [288]entry // literals, the end of a block, and lengths
	dist    [32]entry
	lengths [19]entry // of codes
}

// litSymbol is the entry of a literal, of the end of a block, or of a length.
func litSymbol(s entry) entry {
	switch {
	case s < 256:
		return s<<valueShift | entryLiteral
	case s == 256:
		return entryRare | entryEnd
	case s < 265:
		return (s - 254) << valueShift
	case s < 285:
		extra := (s - 261) / 4
		return (3+(4+(s-261)%4)<<extra)<<valueShift | extra
	case s == 285:
		return maxMatch << valueShift
	}
	return entryRare
}

// distSymbol is the entry of a distance.
func distSymbol(s entry) entry {
	switch {
	case s < 4:
		return (s + 1) << valueShift
	case s < 30:
		extra := (s - 2) / 2
		return (1+(2+s%2)<<extra)<<valueShift | extra
	}
	return entryRare
}

func (z *inflater) fixedCodes() error {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144 || i >= 280:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		default:
			lengths[i] = 7
		}
	}
	return z.setCodes(lengths[:], []uint8{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5})
}

func (z *inflater) setCodes(lit, dist []uint8) error {
	if err := z.lit.build(lit, litBits, symbols.Get().lit[:]); err != nil {
		return err
	}
	z.block = blockCodes
	return z.dist.build(dist, distBits, symbols.Get().dist[:])
}

// dynamicCodes reads the codes of a block, which are compressed, too.
func (z *inflater) dynamicCodes() error {
	v, err := z.take(14)
	if err != nil {
		return err
	}
	lits, dists, count := int(v&31)+257, int(v>>5&31)+1, int(v>>10)+4
	if lits > 286 || dists > 30 {
		return errDeflate
	}
	var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var lengths [19]uint8
	for _, o := range order[:count] {
		v, err := z.take(3)
		if err != nil {
			return err
		}
		lengths[o] = uint8(v)
	}
	if err := z.lit.build(lengths[:], lengthBits, symbols.Get().lengths[:]); err != nil {
		return err
	}
	var all [286 + 30]uint8
	for i := 0; i < lits+dists; {
		z.refill()
		e := z.lit.find(z.bits, lengthBits)
		if e&entryRare != 0 {
			return errDeflate
		}
		if err := z.drop(e); err != nil {
			return err
		}
		s := uint8(e >> valueShift)
		if s < 16 {
			all[i] = s
			i++
			continue
		}
		var value uint8
		extra, least := uint(2), 3
		switch s {
		case 16:
			if i == 0 {
				return errDeflate
			}
			value = all[i-1]
		case 17:
			extra = 3
		default:
			extra, least = 7, 11
		}
		v, err := z.take(extra)
		if err != nil {
			return err
		}
		repeat := least + int(v)
		if i+repeat > lits+dists {
			return errDeflate
		}
		for range repeat {
			all[i] = value
			i++
		}
	}
	return z.setCodes(all[:lits], all[lits:lits+dists])
}
