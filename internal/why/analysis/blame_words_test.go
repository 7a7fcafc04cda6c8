package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestSourceWords: what the source does not name has the words that a person would use.
func TestSourceWords(t *testing.T) {
	for name, want := range map[string]string{
		"p->next":                              "p->next",
		"p->_vptr.Shape":                       "the vtable pointer of p",
		"s._vptr":                              "the vtable pointer of s",
		"p->_vptr.Shape[2]":                    "entry 2 of the vtable of p",
		"*p->_vptr.Shape":                      "entry 0 of the vtable of p",
		"h.w._M_t._M_t._M_head_impl->b":        "h.w->b",
		"p._M_ptr":                             "p",
		"p._M_ptr->_vptr.Shape":                "the vtable pointer of p",
		"a._M_t._M_t._M_head_impl->b._M_ptr":   "a->b",
		"this->_M_t._M_head_impl":              "this->_M_t._M_head_impl",
		"p._M_ptrs":                            "p._M_ptrs",
		"h.w._M_t._M_t._M_head_impl.filler":    "h.w._M_t._M_t._M_head_impl.filler",
		"h.list._M_impl._M_start._M_ptr._size": "h.list._M_impl._M_start._M_ptr._size",
		"p._M_t":                               "p",
		"p._M_t->b":                            "p->b",
		"m._M_t._M_impl":                       "m._M_t._M_impl",
		"v._M_impl._M_start[i]->b":             "v[i]->b",
		"this->_M_impl._M_start[i]->b":         "(*this)[i]->b",
		"v._M_impl._M_start":                   "v.begin()",
		"v._M_impl._M_start->b":                "v[0].b",
		"h.own._M_impl._M_start->_M_t->seats":  "h.own[0]->seats",
		"v._M_impl._M_finish":                  "v.end()",
		"this->_M_impl._M_finish":              "this->end()",
		"l._M_impl._M_node._M_size":            "l.size()",
		"few[this->_M_impl._M_node._M_size]":   "few[this->size()]",
		"few[s._M_t._M_impl._M_node_count].a":  "few[s.size()].a",
		"*v._M_impl._M_start":                  "*v._M_impl._M_start",
		"*it._M_current":                       "*it",
		"it._M_node":                           "it",
		"m._M_impl._M_node":                    "m._M_impl._M_node",
		"it._M_node->_M_next":                  "it._M_node->_M_next",
		"o.box.__ptr_.__value_->a":             "o.box->a",
		"o.box.__ptr_->a":                      "o.box->a",
		"it.__ptr_->__next_":                   "it.__ptr_->__next_",
		"o.all.__begin_[1]":                    "o.all[1]",
		"v->__begin_[1].x":                     "(*v)[1].x",
		"this->__begin_[0][1]":                 "this->__begin_[0][1]",
		"v.__end_":                             "v.end()",
		"*it.__i":                              "*it",
		"this->_M_impl._M_start._M_cur[__n]":   "(*this)[__n]",
		"d._M_impl._M_start._M_cur[2]->a":      "d[2]->a",
		"o.__val_":                             "*o",
		"o.__val_->a":                          "(*o)->a",
		"o._M_payload._M_payload._M_value.x":   "(*o).x",
		"p->o._M_payload._M_payload._M_value":  "*p->o",
		"e.__val_s":                            "e.__val_s",
	} {
		if got := sourceWords(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestBlameTextOfDivision: a divisor is a number, a null pointer is an address.
func TestBlameTextOfDivision(t *testing.T) {
	source := report.Source{File: "/src/avg.c", Line: 4}
	variable := report.BlameStep{Kind: report.BlameVariable, Name: "count", Role: "argument", Function: "avg", Source: source}
	read := report.BlameStep{Kind: report.BlameRead, Name: "s->n", Function: "avg", Source: source}
	memory := report.BlameStep{Kind: report.BlameRead, Name: "[rdi]", Function: "avg", Source: source}
	for _, c := range []struct {
		step report.BlameStep
		kind string
		want string
	}{
		{variable, report.CrashDivZero, "count = 0, argument of avg at avg.c:4"},
		{read, report.CrashDivZero, "s->n = 0, read by avg at avg.c:4"},
		{memory, report.CrashDivZero, "the divisor = 0; read from [rdi] at avg.c:4"},
		{variable, report.CrashNullRead, "count = 0x0, argument of avg at avg.c:4"},
		{memory, report.CrashNullCall, "the target = 0x0; read from [rdi] at avg.c:4"},
	} {
		if got := blameText(&report.Blame{Steps: []report.BlameStep{c.step}}, c.kind); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestAtEnd: what lists and trees have where an element would be.
func TestAtEnd(t *testing.T) {
	for name, want := range map[string]string{
		"l._M_impl._M_node._M_size": "*l.end()", "this->_M_impl._M_node._M_size": "*this->end()", "o->set._M_t._M_impl._M_node_count": "*o->set.end()", "l._M_size": "",
	} {
		if end, ok := atEnd(name); end != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", name, end, want)
		}
	}
}

// What is added to a pointer or number is told with its sign, and a number below 0 as one.
func TestOffsetText(t *testing.T) {
	for want, c := range map[string]struct{ offset, value int64 }{
		"p+0x8 where p = 0x0": {8, 0}, "p-0x3 where p = 0x3": {-3, 3}, "p+0x1 where p = -1": {1, -1}, "p+0x1 where p = -4096": {1, -4096},
		"p+0x1 where p = 0xffffffffffffefff": {1, -4097},
	} {
		value := report.Addr(uint64(c.value))
		s := report.BlameStep{Kind: report.BlameOffset, Name: "p", Offset: report.Addr(uint64(c.offset)), Value: &value}
		if got := blameStep(&report.Blame{}, &s); got != want {
			t.Errorf("%d, %d: %s, want %s", c.offset, c.value, got, want)
		}
	}
}

// What a search came to has no name but the register, which says nothing.
func TestSoughtWords(t *testing.T) {
	b := &report.Blame{Register: "rbp", Value: 0x5000, Steps: []report.BlameStep{{Kind: report.BlameVariable, Name: "rbp", Function: "find", Sought: true}}}
	if text, note := blameText(b, report.CrashWildRead), blameNote(b); text != "rbp = 0x5000, where a search came to that does not look for its end" || note != "" {
		t.Errorf("%q, note %q", text, note)
	}
	b.Steps[0].Name = "c"
	if text, note := blameText(b, report.CrashWildRead), blameNote(b); text != "c = 0x5000, in find" || note != "from c (in find)" {
		t.Errorf("%q, note %q", text, note)
	}
}
