package shell_test

import (
	"fmt"
	"strings"
	"testing"
)

// Numbers keep what their types say of signs in every format.
func TestFormatsOfSigns(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("p/c (unsigned char)200", "= 200 '\\310'")
	p.wants("p/c (signed char)-56", "= -56 '\\310'")
	p.wants("p/f (unsigned char)200", "= 200\n")
	p.wants("p/f (signed char)-56", "= -56\n")
	p.wants("p/a (signed char)-1", "= 0xffffffffffffffff")
	p.wants("p/a (unsigned char)255", "= 0xff\n")
	p.wants("frame function arrays", "")
	p.wants("p/c raw", "255 '\\377'")
	p.wants("p/c 65.5", "= 65 'A'")
	p.wants("p/a 16.0", "= 0x10\n")
}

// In a call that left the stack by a tail call its own variables, and the program's names, mean what they mean; registers and what is computed of its variables do not.
func TestLeftTheStack(t *testing.T) {
	p := at(t, "amd64-inline-tail-O2")
	p.wants("frame 4", "second")
	p.wants("p sizeof(struct record)", "= 16")
	p.wants("ptype struct record", "value;")
	p.wants("p main", "<main>")
	p.wants("p 1 + 2", "= 3")
	p.wants("whatis main", "int (int, char **)")
	p.wants("p v", " = ")
	p.fails("p v + 1", "is not computed")
	p.fails("p $pc", "")
	p.fails("p nosuch", "nosuch")
}

// A function of a class is named by way of an object.
func TestMethodsOfObjects(t *testing.T) {
	p := at(t, "amd64-vars-cxx-O0")
	p.wants("frame function owners", "")
	p.wants("p both.method", "<shop::Both::method(long)>")
	p.wants("p base->area", "<shop::Base::area() const>")
	p.wants("whatis both.method", "(shop::Both * const, long")
	p.fails("p both.nosuch", "no member nosuch")
	p.fails("p both.method(1)", "functions of the process are not called")
}

// The code of a line is found, in the frame's file or in one that is named; what has none says so.
func TestCodeOfLines(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame function arrays", "")
	line, err := p.types("info line")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscanf(strings.TrimSpace(line), "line %d of ", &n); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, of := range []string{fmt.Sprint(n), fmt.Sprintf("vars.c:%d", n)} {
		p.wants("info line "+of, fmt.Sprintf("line %d of ", n))
		p.wants("info line "+of, " <arrays+")
		p.wants("p $_", "<arrays+")
	}
	p.wants("info line arrays", "<arrays+0>")
	p.fails("info line 1", "line 1 of")
	p.fails("info line 999999", "has no code that is known")
	p.fails("info line nosuch.c:3", "line 3 of nosuch.c has no code that is known")
	p.fails("info line ars.c:"+fmt.Sprint(n), "has no code that is known")
	p.fails("info line vars.c:0", "has no code that is known")
}
