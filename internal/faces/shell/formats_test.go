package shell_test

import "testing"

// A format writes the value's own bits: of a bit-field those that it has, of a floating-point number its representation, of
// a reference what it refers to.
func TestFormatsOfBits(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame function records", "")
	p.wants("p/x b", "{a = 0x5, b = 0xfffffffd, c = 0x123456789a, colour = 0x7, on = 0x1}")
	p.wants("p/d b.on", "= 1\n")
	p.wants("p/x here.weight", "real = 0x20001}")
	p.wants("p/x both.d", "= 0x3ff8000000000000")
	p.wants("p/x 1.5", "= 0x3ff8000000000000")
	p.wants("p/x here", "real = 0x20001}, {tag = 0x74, at = {")
	p.wants("frame function numbers", "")
	p.wants("p fl * db", "= 0.3141592700403")
	p.fails("p/x ld", "more than 64 bits")
	q := at(t, "amd64-vars-cxx-O0")
	q.wants("frame function owners", "")
	q.wants("p/x plain", ": {a = 0x2, b = 0x3fe0000000000000, c = 0x0}")
	q.wants("p/x both", "own = 0x5}")
	q.wants("frame function Holder<int>::method", "")
	q.wants("p/x ref", ": 0x2\n")
	r := at(t, "amd64-vars-rust-O0")
	r.wants("frame function vars::values", "")
	r.wants("p/c letter", "= 233 '\\351'")
	r.wants("p/x pair", "= (0x7, 0x71)")
	r.wants("p real as f64", "= 0.10000000149011612")
}

// The name of a function's template means its instances.
func TestFrameOfTemplate(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame function containers", "containers<int>(")
	p.fails("frame function contain", "no frame")
}

// Methods are as their class declares them, and what a class has in it is laid out.
func TestPtypeOfClasses(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame function owners", "")
	p.wants("ptype shop::Base", "virtual ~Base(void);")
	p.wants("ptype shop::Base", "virtual int area(void) const;")
	p.wants("whatis sizeof(field)", "unsigned long")
	q := at(t, "amd64-vars-c-O0")
	q.wants("ptype names", "type = const char * const [3]")
	q.wants("frame function records", "")
	q.wants("ptype/o here", "struct point {")
}

// Settings that change what is printed do so, for one command or until they are changed again.
func TestSettingsThatChange(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame function owners", "")
	p.wants("p base", "(shop::Base *) 0x")
	p.wants("set print object on", "")
	p.wants("p base", "(shop::Both *) 0x")
	p.wants("p *base", "own = 5")
	p.wants("show print object", "on")
	p.wants("p plain", "a = 2")
	p.wants("set print object off", "")
	p.wants("p base", "(shop::Base *) 0x")
	p.wants("with print object -- p base", "(shop::Both *) 0x")
	p.wants("p base", "(shop::Base *) 0x")
	p.wants("with print elements 2 -- p numbers", "{1, 2...}")
	p.wants("p numbers", "{1, 2, 3}")
	p.wants("with print elements 2 -- set print pretty on", "")
	p.wants("show print pretty", "on")
	p.wants("with print pretty off -- set listsize 4", "")
	p.wants("show print pretty", "on")
	p.wants("show listsize", "4 lines")
	p.wants("with listsize 3 -- show listsize", "3 lines")
	p.wants("show listsize", "4 lines")
	p.wants("set print pretty off", "")
	p.fails("with print elements 2", "command is missing")
	p.fails("with nosuch 2 -- p 1", "no setting")
	p.wants("p/r numbers", "_M_impl")
	p.wants("p numbers", "{1, 2, 3}")
	p.wants("p/rx plain", "a = 0x2")
	p.wants(`printf "%g", 3.14159265`, "3.14159")
	p.wants("tfaas p by", "= 2")
	p.wants("info functions ^own", "owners")
	p.wants("complete list own", "list owners")
	p.wants("complete p own", "p owners")
	p.wants("x/2tb &shop::Base::count", "00000011")
}

// What a format or a command is asked for is not answered by something else, and types are those of what is named.
func TestAsAsked(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.nothing("select-frame 1")
	p.wants("p/x text", "{0x")
	p.wants("with print elements 2 -- p/x text", "{0x")
	p.wants("with print elements 2 -- p/d raw", "{")
	p.wants("list records,+1", "struct bits b")
	p.fails("list records,+x", `"+x" is no number of lines`)
	p.wants("whatis plain[1:3]", "type = int [2]")
	p.wants("whatis vla", "type = int [3]")
	p.wants("ptype vla", "type = int [3]")
	p.wants("whatis plain", "type = int [5]")
}
