package hotspot

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// A method is a Java method.
type method struct {
	class     string // "java.lang.Thread"
	name      string
	signature string // "(I)V"
	file      string // "Thread.java"; "" if it is not known
	code      uint64 // where its bytecode is
	codeSize  int
	lines     []lineEntry // by their bytecodes; the last of one bytecode counts

	internal   string // the class as the virtual machine has it: "java/lang/Thread"
	parameters int    // slots of parameters, this with them
	locals     []localEntry
	handlers   []handlerEntry
}

// A lineEntry says at which bytecode the code of a line begins.
type lineEntry struct{ bci, line int }

const lineBytes = 16 // of a lineEntry

// Display is the method as Java's programmers write it: "T.rec(int)".
func (m *method) display() string { return m.class + "." + m.name + parameters(m.signature) }

// linkage is the method as the virtual machine writes it: "T.rec(I)I".
func (m *method) linkage() string { return m.class + "." + m.name + m.signature }

// line is the line of a bytecode; 0 if it is not known.
func (m *method) line(bci int) int {
	i := sort.Search(len(m.lines), func(i int) bool { return m.lines[i].bci > bci })
	if i == 0 {
		return 0
	}
	return m.lines[i-1].line
}

// methodAt reads a method; nil if there is none at the address: it must lead to its class, and its
// bytecode must be its own.
func (vm *VM) methodAt(at uint64) *method {
	if at == 0 || at%8 != 0 {
		return nil
	}
	return vm.methods.Get(at, func() *method { return vm.readMethod(at) })
}

func (vm *VM) readMethod(at uint64) *method {
	l := &vm.layout
	cm := vm.Word(at + l.constMethod)
	if cm == 0 || cm%8 != 0 {
		return nil
	}
	pool := vm.Word(cm + l.methodPool)
	if pool == 0 || pool%8 != 0 {
		return nil
	}
	klass := vm.Word(pool + l.holder)
	if klass == 0 || klass%8 != 0 {
		return nil
	}
	class, ok := vm.symbol(vm.Word(klass + l.klassName))
	if !ok || class == "" {
		return nil
	}
	// The class knows its constants: what leads there by chance is not led back.
	if back, ok := vm.off("InstanceKlass._constants"); ok && vm.Word(klass+back) != pool {
		return nil
	}
	slot := func(offset uint64) (string, bool) {
		i, ok := vm.U16(offset)
		if !ok || i == 0 {
			return "", false
		}
		return vm.symbol(vm.Word(pool+l.poolSize+8*uint64(i)) &^ 1)
	}
	m := &method{class: strings.ReplaceAll(class, "/", "."), internal: class}
	if m.name, ok = slot(cm + l.nameIndex); !ok || m.name == "" {
		return nil
	}
	if m.signature, ok = slot(cm + l.signatureIndex); !ok || !strings.HasPrefix(m.signature, "(") {
		return nil
	}
	size, ok := vm.U16(cm + l.codeSize)
	if !ok || !vm.mayKeep(2*len(class)+len(m.name)+len(m.signature)) {
		return nil
	}
	m.code, m.codeSize = cm+l.constMethodSize, int(size)
	if l.hasSource {
		in := pool
		if !l.sourceInPool {
			in = klass
		}
		m.file, _ = slot(in + l.sourceName)
	}
	flags, _ := vm.U16(cm + l.flags)
	if flags&1 != 0 {
		m.lines = vm.lineTable(m.code+uint64(m.codeSize), m.codeSize)
		slices.SortStableFunc(m.lines, func(a, b lineEntry) int { return cmp.Compare(a.bci, b.bci) })
	}
	if off, ok := vm.off("ConstMethod._size_of_parameters"); ok {
		n, _ := vm.U16(cm + off)
		m.parameters = int(n)
	}
	handlers, locals := vm.methodLists(cm, uint64(flags))
	m.handlers = vm.exceptionTable(handlers, m.codeSize)
	m.locals = vm.localTable(locals, func(i uint16) string {
		s, _ := vm.symbol(vm.Word(pool+l.poolSize+8*uint64(i)) &^ 1)
		return s
	})
	return m
}

// maxLines is the most entries of a table of lines: a bytecode index has 16 bits.
const maxLines = 1 << 16

// lineTable reads a compressed table of lines.
func (vm *VM) lineTable(at uint64, codeSize int) []lineEntry {
	r := reader{m: vm.memory, at: at}
	var out []lineEntry
	bci, line := 0, 0
	for range min(maxLines, 2*codeSize+16) {
		c, ok := r.byte()
		if !ok || c == 0 {
			return out
		}
		if c != 0xff {
			bci += int(c >> 3)
			line += int(c & 7)
		} else {
			d, ok := r.unsigned5(vm)
			d2, ok2 := r.unsigned5(vm)
			if !ok || !ok2 {
				return out
			}
			bci += zigzag(d)
			line += zigzag(d2)
		}
		if bci < 0 || bci >= codeSize || line < 0 {
			return out
		}
		if more := max(len(out), 16); len(out) == cap(out) && (!vm.mayKeep(more*lineBytes) || vm.spend(more) != nil) {
			return nil
		}
		out = append(out, lineEntry{bci, line})
	}
	return out
}

// A reader reads bytes of memory one after the other.
type reader struct {
	m   memory
	at  uint64
	buf []byte
}

func (r *reader) byte() (byte, bool) {
	if len(r.buf) == 0 {
		if r.buf = r.m.Some(r.at, int(64-r.at%64)); len(r.buf) == 0 { // never across the end of a page
			return 0, false
		}
		r.at += uint64(len(r.buf))
	}
	c := r.buf[0]
	r.buf = r.buf[1:]
	return c, true
}

func (r *reader) unsigned5(vm *VM) (uint32, bool) {
	var b []byte
	for range 5 {
		c, ok := r.byte()
		if !ok {
			return 0, false
		}
		if b = append(b, c); c < 192 {
			break
		}
	}
	v, n := vm.unsigned5(b)
	return v, n != 0
}

// symbol reads a name of the virtual machine; false if there is none at the address.
func (vm *VM) symbol(at uint64) (string, bool) {
	if at == 0 || at%4 != 0 {
		return "", false
	}
	n, ok := vm.U16(at + vm.layout.symbolLength)
	if !ok || int(n) > maxName {
		return "", false
	}
	b := vm.Bytes(at+vm.layout.symbolBody, int(n))
	if b == nil {
		return "", false
	}
	for _, c := range b {
		if c < ' ' && c != 0 { // modified UTF-8 has no byte below that
			return "", false
		}
	}
	return string(b), true
}

// parameters writes the parameters of a signature as Java does: "(I[Ljava/lang/String;)V" is "(int, String[])".
func parameters(signature string) string {
	var out []string
	for _, t := range signatureTypes(signature) {
		out = append(out, simpleName(javaType(t)))
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// signatureTypes are the types of the parameters in a signature.
func signatureTypes(signature string) (out []string) {
	s := strings.TrimPrefix(signature, "(")
	for s != "" && s[0] != ')' {
		n := 0
		for n < len(s) && s[n] == '[' {
			n++
		}
		if n == len(s) {
			return out
		}
		if s[n] == 'L' {
			end := strings.IndexByte(s, ';')
			if end < 0 {
				return out
			}
			n = end
		}
		out, s = append(out, s[:n+1]), s[n+1:]
	}
	return out
}

const primitiveKeys = "BCDFIJSZ"

var primitives = [...]string{"?", "byte", "char", "double", "float", "int", "long", "short", "boolean"}
