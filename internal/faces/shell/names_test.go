package shell_test

import (
	"strings"
	"testing"
)

// TestNames: types and variables are found by pattern, in all languages, with split debugging information too.
func TestNames(t *testing.T) {
	for _, c := range []struct{ fixture, types, wantType, variables, wantVariable, function, wantScope string }{
		{"amd64-vars-c-O0", "^node$", "vars.c:33    struct  node", "^total$", "vars.c:54    total", "main", "got   long int  local       166"},
		{"amd64-vars-c-split-O2", "^node$", "vars.c:33    struct  node", "^total$", "vars.c:54    total", "main", "argv  char **   argument    164"},
		{"amd64-vars-cxx-O0", "^Holder<int>$", "struct  Holder<int>", "Base::count", "vars.cpp:37  shop::Base::count", "main", "holder  Holder<int>  local       143"},
		{"amd64-vars-go-O0", "^main.node$", "type  main.node", "^runtime.itabTable$", "  runtime.itabTable", "main.main", "tail  *main.node  local       119"},
	} {
		p := at(t, c.fixture)
		p.wants("info types "+c.types, c.wantType)
		p.wants("info variables "+c.variables, c.wantVariable)
		p.wants("info scope "+c.function, c.wantScope)
		p.fails("info types ^no such type$", "no type with debugging information has a name that matches ^no such type$")
		p.fails("info variables (", "the pattern of a search")
		p.fails("info scope no_such", "no function is called no_such")
	}
	p := at(t, "amd64-vars-go-O0") // which has many types of its own
	if got, err := p.types("info types"); err != nil || strings.Count(got, "\n") > 600 || !strings.Contains(got, "and others") {
		t.Errorf("%d lines, %v", strings.Count(got, "\n"), err)
	}
}

// TestPrintLimits: what is set for print counts, and what its own options ask for counts for one value.
func TestPrintLimits(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame 1", "arrays")
	const plain, five = "plain", "{1, 2, 3, 4, 5}"
	p.wants("p "+plain, five)
	p.wants("p -elements 2 -- "+plain, "{1, 2...}")
	p.wants("p "+plain, five)
	p.wants("p -elements 2 -pretty -- /x "+plain, "{0x1, 0x2")
	p.wants("p -characters 3 -- text", `"fix"...`)
	p.wants("set print elements 3", "")
	p.wants("p "+plain, "{1, 2, 3...}")
	p.wants("info locals", "plain = {1, 2, 3...}")
	p.wants("show print elements", "3")
	p.wants("p -elements unlimited -- "+plain, five)
	p.wants("set print elements 0", "")
	p.wants("show print elements", "unlimited")
	p.wants("p -max-depth 1 -- points", "{{...}")
	p.wants("p "+plain, five)
	p.wants("p -3", "-3")
	p.fails("p -nothing 1 -- "+plain, `no setting is called "print nothing"`)
	p.fails("set print elements x", "a number is expected")
	p.fails("set print nothing on", `no setting is called "print nothing"`)
	p.wants("set print frame-arguments all", "")
	p.wants("set print raw-values on", "")
	p.wants("show print raw-values", "on")
}
