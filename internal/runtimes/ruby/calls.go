package ruby

import (
	"errors"
	"fmt"
)

// A call is a frame of the virtual machine: of a method, a block or other code of the program, or of a function of C.
type call struct {
	at       uint64 // of its frame
	ec       uint64 // whose stack that is on
	f        *function
	pc       uint64
	self     uint64
	ep       uint64 // its variables
	native   uint64 // where the function of C begins
	function string
	class    string // of a function of C
	outer    bool   // the virtual machine was entered for it
	hidden   bool   // Ruby does not tell of it: the call of its rescue or ensure stands for it
}

// A function is what is read of code of the program.
type function struct {
	at                     uint64
	label, base, path      string
	kind                   uint32
	size                   uint32 // in words
	code                   uint64
	first                  int
	infos, succinct        uint64
	infoCount              uint32
	locals                 uint64 // names of variables
	localCount, parameters uint32
	parent, local          uint64
	method                 bool // it is the code of a method, or within such
	native                 bool // Ruby tells of it as of a function of C
	block                  int  // the number of the parameter that has the block; -1 without
}

// hasBlock says of code that a parameter is for its block.
const hasBlock = 1 << 6

// Types of code.
const (
	codeTop = iota
	codeMethod
	codeBlock
	codeClass
	codeRescue
	codeEnsure
	codeEval
	codeMain
	codePlain
)

// What the flags of a frame say: of which type it is, and how it was entered.
const (
	frameMask   = 0x7fff0001
	frameC      = 0x55550001
	frameEntry  = 0x0020 // the virtual machine was entered for it
	frameBlock  = 0x0200 // the parameter for the block has it, which until somebody reads it is elsewhere
	envLocal    = 0x0002 // its variables are those of a method, not of a block
	flagsIndex  = 0
	specIndex   = 1 // words before ep: the variables around a block's
	methodIndex = 2
)

// Limits on what memory can ask for.
const (
	maxStack        = 64 << 20 // bytes of a stack of frames
	maxDepth        = 1 << 17
	maxInstructions = 1 << 24
	maxScopes       = 64
)

// A chainError says why a list of calls ends early.
type chainError string

func (e chainError) Error() string { return string(e) }

const (
	errLimit chainError = "the limit of the analysis is reached in its Ruby calls"
	errDeep  chainError = "it has too many Ruby calls"
)

// calls lists the calls of what a thread or a fiber executes, youngest first. With an error it has those before the damage.
func (r *runtime) calls(ec uint64) ([]call, error) {
	stack, words, cfp := r.field(ec, "ec.stack"), r.field(ec, "ec.words"), r.field(ec, "ec.cfp")
	if stack == 0 || cfp == 0 { // it has not begun, or has ended
		return nil, nil
	}
	size := r.at("frame.size")
	if stack%8 != 0 || words > maxStack/8 || cfp < stack || cfp > stack+8*words || (stack+8*words-cfp)%size != 0 {
		return nil, errors.New("its stack of Ruby calls is damaged")
	}
	n := (stack + 8*words - cfp) / size
	if n > 0 { // the oldest is a beginning that nobody called
		n--
	}
	var list []call
	hide := false
	if n > maxDepth {
		return nil, errDeep
	}
	const step = 64
	var b []byte
	for i := range n {
		at := cfp + i*size
		if len(b) == 0 {
			if b = r.Bytes(at, int(min(step, n-i)*size)); b == nil {
				return list, fmt.Errorf("its Ruby call at %#x is not there", at)
			}
		}
		if r.p.Spend(8) != nil {
			return list, errLimit
		}
		c := call{at: at, ec: ec, pc: r.Arch.Word(b[r.at("frame.pc"):]), self: r.Arch.Word(b[r.at("frame.self"):]), ep: r.Arch.Word(b[r.at("frame.ep"):])}
		ok, err := r.read(&c, r.Arch.Word(b[r.at("frame.iseq"):]))
		if err != nil {
			return list, err
		}
		if ok {
			if r.joinsHandlers() && c.f != nil {
				c.hidden = hide
				hide = c.f.handler()
			}
			list = append(list, c)
		}
		b = b[size:]
	}
	return list, nil
}

// read completes a call; false if it is none of which Ruby tells.
func (r *runtime) read(c *call, code uint64) (bool, error) {
	if c.ep == 0 || c.ep%8 != 0 {
		return false, fmt.Errorf("its Ruby call at %#x has no variables", c.at)
	}
	flags, ok := r.LookupWord(c.ep - 8*flagsIndex)
	if !ok || flags&1 == 0 {
		return false, fmt.Errorf("its Ruby call at %#x has no variables", c.at)
	}
	c.outer = flags&frameEntry != 0
	if code != 0 && c.pc == 0 { // a block that is a function of C, or the beginning of the stack
		return false, nil
	}
	if code != 0 {
		if c.f = r.functionAt(code); c.f == nil {
			return false, fmt.Errorf("its Ruby call at %#x has no code", c.at)
		}
		m := uint64(0)
		if c.f.method {
			m = r.method(c.ep)
		}
		c.function = r.label(c.f, m)
		return true, nil
	}
	if flags&frameMask != frameC {
		return false, nil
	}
	m := r.method(c.ep)
	if m == 0 {
		return false, fmt.Errorf("its Ruby call at %#x has no method", c.at)
	}
	definition := r.field(m, "method.definition")
	c.function = r.idName(r.field(definition, "definition.id"))
	if c.function == "" {
		c.function = "?"
	}
	owner := r.classAt(r.field(m, "method.owner"))
	c.function, c.class = join(owner, c.function), owner.name
	if kind, _ := r.U8(definition); kind&15 == methodC {
		c.native = r.field(definition, "definition.function")
	}
	return true, nil
}

// methodC is the type of methods that are functions of C.
const methodC = 1

// method finds the method to which variables belong; 0 if there is none.
func (r *runtime) method(ep uint64) uint64 {
	for range maxScopes {
		flags, ok := r.LookupWord(ep)
		if !ok || ep%8 != 0 {
			return 0
		}
		m := r.Word(ep - 8*methodIndex)
		if r.internal(m, internalMethod) {
			return m
		}
		if flags&envLocal != 0 {
			if r.internal(m, internalSpecial) {
				if m = r.Word(m + 8); r.internal(m, internalMethod) {
					return m
				}
			}
			return 0
		}
		ep = r.Word(ep-8*specIndex) &^ 3
	}
	return 0
}

// join is the name of a method of a class, as Ruby 3.4 and later write it.
func join(c class, name string) string {
	switch {
	case c.name == "":
		return name
	case c.singleton:
		return c.name + "." + name
	}
	return c.name + "#" + name
}

// functionAt reads code; nil if there is none.
func (r *runtime) functionAt(at uint64) *function {
	return r.functions.Get(at, func() *function { return r.readFunction(at) })
}

func (r *runtime) readFunction(at uint64) *function {
	if !r.internal(at, internalCode) {
		return nil
	}
	body := r.field(at, "iseq.body")
	if body == 0 || body%8 != 0 {
		return nil
	}
	b := r.Bytes(body, int(r.at("body.localcount")+4))
	if b == nil {
		return nil
	}
	word := func(name string) uint64 { return r.Arch.Word(b[r.at(name):]) }
	number := func(name string) uint32 { return r.Arch.ByteOrder.Uint32(b[r.at(name):]) }
	f := &function{at: at, kind: number("body.type"), size: number("body.size"), code: word("body.code"), infos: word("body.infos"), infoCount: number("body.infocount"),
		succinct: word("body.succinct"), locals: word("body.locals"), localCount: number("body.localcount"), parameters: number("body.params"), parent: word("body.parent"), local: word("body.local")}
	f.block = -1
	if number("body.flags")&hasBlock != 0 {
		f.block = int(number("body.block"))
	}
	f.label, f.base = r.name(word("body.label")), r.name(word("body.base"))
	f.path = r.name(word("body.path"))
	if f.path == "" {
		f.path = r.name(r.element(word("body.path"), 0))
	}
	if f.kind > codePlain || f.label == "" || f.code == 0 || f.code%8 != 0 || f.size == 0 || f.size > maxInstructions {
		return nil
	}
	f.first = r.firstLine(word("body.first"))
	if r.has("body.attributes") {
		attributes, _ := r.U32(body + r.at("body.attributes"))
		f.native = uint64(attributes)&r.at("body.ofc") != 0
	}
	f.method = f.kind == codeMethod
	if f.local != at && r.internal(f.local, internalCode) {
		f.method = r.number(r.field(f.local, "iseq.body"), "body.type") == codeMethod
	}
	return f
}

// firstLine reads the first line of code: an Integer until 3.1, a number since.
func (r *runtime) firstLine(v uint64) int {
	if r.version < "3.2" {
		v >>= 1
	} else {
		v &= 0xffffffff
	}
	if v > 1<<30 {
		return 0
	}
	return int(v)
}
