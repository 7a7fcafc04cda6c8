package v8

// code is compiled code.
type code struct {
	at          uint64 // the Code
	start, size uint64
	kind        uint32
	baseline    bool
	positions   uint64 // table of them; of baseline code: how long its code is for each bytecode
	bytecode    uint64 // of baseline code
	deopt       uint64 // array of what deoptimization needs, of optimized code
	inlined     uint64 // table of where functions were inlined
}

// maxCode is the most bytes of a function's code.
const maxCode = 1 << 22

// codeAt is the compiled code that contains an address; nil if there is none.
func (e *engine) codeAt(pc uint64) *code {
	return e.codes.Get(pc, func() *code {
		// The beginning of code is aligned; before it is a header whose first word is the map.
		const align, chunk = 32, 4096
		end := pc &^ (align - 1)
		var block []byte
		var base uint64
		for a := end; a > chunk && end-a < maxCode; a -= align {
			h := a - e.header
			if block == nil || h < base {
				base = h &^ (chunk - 1)
				if e.p.Spend(8) != nil {
					return nil
				}
				if block = e.Bytes(base, chunk); block == nil {
					return nil
				}
			}
			w := littleEndian.Uint64(block[h-base:])
			if !isObject(w) || e.typeOf(h+1) != e.types.stream {
				continue
			}
			if c := e.readCode(h+1, a); c != nil && pc-a < c.size {
				return c
			}
			return nil
		}
		return nil
	})
}

// readCode reads the code of an InstructionStream; nil if its parts do not fit together.
func (e *engine) readCode(stream, start uint64) *code {
	c := &code{at: stream, start: start}
	if e.types.stream != e.types.code {
		c.at = e.at(stream, 8)
		if e.typeOf(c.at) != e.types.code || e.at(c.at, e.codeStart) != start {
			return nil
		}
	}
	size, ok := e.U32(c.at - 1 + e.codeSize)
	flags, ok2 := e.U32(c.at - 1 + e.codeFlags)
	if !ok || !ok2 || size == 0 || size > maxCode {
		return nil
	}
	c.size, c.kind = uint64(size), flags&15
	c.positions = e.at(c.at, e.codePositions)
	first := e.at(c.at, e.codeDeopt)
	switch {
	case c.kind == e.kindBaseline:
		if c.baseline = e.typeOf(first) == e.types.bytecode; c.baseline {
			c.bytecode = first
		}
	case c.kind > e.kindBaseline:
		if n, data, ok := e.array(first, e.types.fixedArrays); ok && n > int(max(e.deoptShared, e.deoptInlined, e.deoptCount, e.deoptLiterals)) {
			c.deopt = data
			c.inlined = e.Word(data + 8*e.deoptInlined)
		}
	}
	return c
}

// outer is the function that optimized code was made for.
func (e *engine) outer(c *code) *function {
	if c.deopt == 0 {
		return nil
	}
	w := e.Word(c.deopt + 8*e.deoptShared)
	if e.typeOf(w) != e.types.sharedInfo { // from 13 on in a wrapper
		w = e.at(w, 8)
	}
	return e.functionOf(w)
}

// literal is a function that was inlined.
func (e *engine) literal(c *code, i int32) *function {
	list := e.Word(c.deopt + 8*e.deoptLiterals)
	if !isObject(list) || i < 0 {
		return nil
	}
	n, ok := smi(e.at(list, 8))
	if !ok || int(i) >= n {
		return nil
	}
	return e.functionOf(e.at(list, 16+8*uint64(i)) &^ 2) // the reference may be weak
}

// maxInlined is the most functions inlined into each other.
const maxInlined = 256

// activation is a function that runs, and where in its script.
type activation struct {
	*function
	pos int // -1 if it is not known
}

// activations are the functions that run at an address of optimized code, innermost first; nil if they are not known.
func (e *engine) activations(c *code, pc uint64) (out []activation) {
	outer := e.outer(c)
	if outer == nil {
		return nil
	}
	pos, id, ok := lookUp(e.byteArray(c.positions), int(pc-c.start))
	if !ok {
		return []activation{{outer, -1}}
	}
	inlined := e.byteArray(c.inlined)
	for range maxInlined {
		if id < 0 {
			break
		}
		item := 16 * id
		if item+16 > len(inlined) {
			return []activation{{outer, -1}}
		}
		v, i := littleEndian.Uint64(inlined[item:]), int32(littleEndian.Uint32(inlined[item+8:]))
		f := e.literal(c, i)
		if f == nil {
			return []activation{{outer, -1}}
		}
		out = append(out, activation{f, pos})
		next := int(v>>31&0xffff) - 1
		if next >= id { // they were inlined into what was there before
			return []activation{{outer, -1}}
		}
		pos, id = int(v>>1&(1<<30-1))-1, next
	}
	return append(out, activation{outer, pos})
}

// Bytecodes that say that the operands of the next one are wide.
const (
	opWide, opExtraWide           = 0, 1
	opDebugWide, opDebugExtraWide = 2, 3
)

// baselineOffset is where in its bytecode baseline code is at an address; false if it is not known.
func (e *engine) baselineOffset(c *code, pc uint64) (int, bool) {
	n, ok := smi(e.at(c.bytecode, 8))
	if !ok || n <= 0 || n > maxTable || len(e.bytecodeSizes) == 0 {
		return 0, false
	}
	ops := e.Bytes(c.bytecode-1+e.bytecodeData, n)
	sizes, row := e.bytecodeSizes, len(e.bytecodeSizes)/3
	end, table := uvarint(e.byteArray(c.positions)) // the prologue
	at, offset := 0, -1
	for want := pc - c.start; end < want; {
		d, rest := uvarint(table)
		if rest == nil || at >= len(ops) {
			return 0, false
		}
		table, end, offset = rest, end+d, at
		scale := 0
		switch ops[at] {
		case opWide, opDebugWide:
			scale, at = 1, at+1
		case opExtraWide, opDebugExtraWide:
			scale, at = 2, at+1
		}
		if at >= len(ops) || int(ops[at]) >= row || sizes[scale*row+int(ops[at])] == 0 {
			return 0, false
		}
		at += int(sizes[scale*row+int(ops[at])])
	}
	return max(offset, 0), true
}
