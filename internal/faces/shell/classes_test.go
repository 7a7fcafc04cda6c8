package shell_test

import (
	"strings"
	"testing"
)

// What gdb's users ask of classes of C++: tables of virtual functions, typeinfo, pointers to members, what methods return.
func TestClasses(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame function owners", "")
	for _, object := range []string{"base", "*base", "both"} {
		p.wants("info vtbl "+object, "vtable for 'shop::Base' @ 0x56515bb52b58 (subobject @ 0x7ffeb735e120):\n[0]: 0x56515bb3481d <virtual thunk to shop::Both::~Both()>\n[1]: 0x56515bb3485b <virtual thunk to shop::Both::~Both()>\n[2]: 0x56515bb31bfe <shop::Base::area() const>\n")
	}
	if got, err := p.types("info vtbl both"); err != nil || strings.Contains(got, "'shop::Both'") { // which declares no virtual function
		t.Errorf("%s, %v", got, err)
	}
	p.fails("info vtbl 1", "an object of type int has no table of virtual functions")
	p.fails("info vtbl plain", "shop::Plain")
	p.fails("info vtbl", "an object is missing")
	p.fails("info vtbl nosuch", "no variable is called nosuch")

	p.wants("p typeid(*base)", "<typeinfo for shop::Both>") // by the table, not by the type
	p.wants("p typeid(shop::Base)", "<typeinfo for shop::Base>")
	p.wants("p typeid(both.own)", "<typeinfo for int>")
	p.wants("p typeid(int)", "<typeinfo for int>")
	p.fails("p typeid(nosuch)", "no variable is called nosuch")
	p.fails("p typeid(shop::Plain)", "the program has no typeinfo of shop::Plain that is known")

	p.wants("p &shop::Plain::b", "= &shop::Plain::b\n")
	p.wants("whatis &shop::Plain::b", "type = double shop::Plain::*")
	p.wants("p plain.*(&shop::Plain::b)", "= 0.5\n")
	p.wants("p &shop::Both::side", "= &shop::Base::side\n") // of the class that has it
	p.wants("p &shop::Base::area", "<shop::Base::area() const>")
	p.fails("p &shop::Plain::nosuch", "no variable is called shop::Plain::nosuch")

	p.wants("whatis base->area()", "type = int")
	p.wants("whatis both.method(1)", "type = int")
	p.wants("whatis numbers.begin()", "__normal_iterator<")
	p.fails("whatis base->nosuch()", "a call of nosuch: functions of the process are not called")
	p.fails("p base->area()", "a call of area: functions of the process are not called")

	p.wants("p &both", "(shop::Both *) 0x7ffeb735e100")
	p.wants("p *&both", "own = 5")
}

// What the compiler left out has a type, and no value.
func TestLeftOut(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O2")
	p.wants("frame function owners", "")
	p.wants("whatis base", "type = shop::Base *")
	p.wants("whatis &base", "type = shop::Base **")
	p.wants("ptype base", "virtual int area(void) const;")
	p.fails("p base", "optimised out")
	p.fails("p &base", "")
	p.fails("info vtbl base", "optimised out")
	p.wants("whatis shared.use_count()", "type = long")
	p.fails("p shared.use_count()", "")
}
