package v8

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// An item is a value, or a part of one.
type item struct {
	Name, Type string
	Value      string // in one line, as util.inspect writes it
	Err        error  // why there is no value
	Address    unwind.Address

	Kind    string // as in report.Data; "" if the sort is not known
	Key     string // of an element of a map, which has no Name
	private bool   // a private field: its Name, #x, is no text
	Parts   []item // elements and properties
	More    bool   // parts were left out
}

// suspended is the item as a variable of a call.
func (v item) suspended() tasks.SuspendedVariable {
	out := tasks.SuspendedVariable{Name: v.Name, Type: v.Type, Value: v.Value, Err: v.Err, Address: v.Address}
	if v.Err == nil && v.Kind != "" {
		out.Tree = v.tree
	}
	return out
}

// ValueAt implements tasks.Valuer.
func (j *JavaScript) ValueAt(at unwind.Address, limits tasks.Limits) (report.Data, bool) {
	e := j.anywhere()
	if e == nil || !isObject(at+1) || !e.isValue(at+1) {
		return report.Data{}, false
	}
	v := e.value(at+1, limits)
	return v.tree(), v.Err == nil
}

// tree is the item with its parts, as deep as they were read.
func (v item) tree() report.Data {
	out := report.Data{Kind: v.Kind, Type: v.Type, Address: report.Addr(v.Address), Truncated: v.More}
	if v.Err != nil {
		out.Kind, out.Text = "text", "<"+v.Err.Error()+">"
		return out
	}
	if len(v.Parts) == 0 {
		out.Text = v.Value
	}
	for _, p := range v.Parts {
		part := report.Child{Name: p.Name, Data: p.tree()}
		if p.Key != "" {
			part.Key = &report.Data{Kind: "text", Text: p.Key}
		}
		out.Children = append(out.Children, part)
	}
	return out
}
