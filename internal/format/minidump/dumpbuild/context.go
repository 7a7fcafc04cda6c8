package dumpbuild

// A Context is a CONTEXT record being built; bytes not set are zero.
type Context struct {
	d *Dump
	B []byte
}

// Context begins a record of size bytes.
func (d *Dump) Context(size int) *Context { return &Context{d, make([]byte, size)} }

// Put writes a number of 2, 4 or 8 bytes at off.
func (c *Context) Put(off, size int, v uint64) *Context {
	switch size {
	case 2:
		c.d.Order.PutUint16(c.B[off:], uint16(v))
	case 4:
		c.d.Order.PutUint32(c.B[off:], uint32(v))
	default:
		c.d.Order.PutUint64(c.B[off:], v)
	}
	return c
}

// AMD64 makes a context with flags, program counter, stack pointer and rbp.
func (d *Dump) AMD64(flags uint32, pc, sp, bp uint64) []byte {
	return d.Context(1232).Put(0x30, 4, uint64(flags)).Put(0xf8, 8, pc).Put(0x98, 8, sp).Put(0xa0, 8, bp).B
}

// X86 is AMD64 for 32-bit x86.
func (d *Dump) X86(flags uint32, pc, sp, bp uint32) []byte {
	return d.Context(716).Put(0, 4, uint64(flags)).Put(0xb8, 4, uint64(pc)).Put(0xc4, 4, uint64(sp)).Put(0xb4, 4, uint64(bp)).B
}
