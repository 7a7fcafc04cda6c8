package perl

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// A treeBuilder makes the tree of a value.
type treeBuilder struct {
	r     *runtime
	most  tasks.Limits
	all   int
	parts int
	seen  []uint64
}

// tree reads a value with its parts.
func (r *runtime) tree(at uint64, limits tasks.Limits) report.Data {
	b := treeBuilder{r: r, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, String: maxText, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
	return b.value(at)
}

// ValueAt implements tasks.Valuer: the value at an address.
func (r *runtime) ValueAt(at uint64, limits tasks.Limits) (report.Data, bool) {
	if _, ok := r.flags(at); !ok {
		return report.Data{}, false
	}
	v := r.tree(at, limits)
	return v, v.Kind != "text"
}

func (b *treeBuilder) value(at uint64) report.Data {
	r := b.r
	if b.parts++; b.parts > b.all || r.p.Spend(4) != nil {
		b.parts = b.all // nothing more is read
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	if at == 0 { // no element is there
		return report.Data{Kind: "void", Text: "undef"}
	}
	out := report.Data{Kind: r.kindOf(at), Type: r.typeOf(at), Address: report.Addr(at)}
	if s, ok := r.plain(at, b.most.String); ok {
		out.Text = s
		out.Truncated = out.Kind == "string" && strings.HasSuffix(s, `"...`)
		return out
	}
	in := at
	if f, _ := r.flags(at); f&flagRef != 0 {
		in = r.Word(at + valueHere)
	}
	if out.Kind != "sequence" && out.Kind != "map" && out.Kind != "reference" {
		out.Text = r.show(at, tasks.Limits{})
		return out
	}
	if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, in) {
		out.Text, out.Truncated = "...", true
		return out
	}
	b.seen = append(b.seen, in)
	if out.Kind == "reference" {
		out.Children = append(out.Children, report.Child{Data: b.value(in)})
	} else {
		whole := b.elements(&out, in)
		out.Truncated = !whole
	}
	b.seen = b.seen[:len(b.seen)-1]
	return out
}

// elements adds those of an array or a hash; false if there are more.
func (b *treeBuilder) elements(out *report.Data, in uint64) bool {
	list, whole := b.r.elements(in, b.most.At(len(b.seen)-1))
	for _, e := range list {
		if b.parts >= b.all {
			return false
		}
		part := report.Child{}
		if out.Kind == "map" {
			key := report.Data{Kind: "string", Text: keyText(e.key)}
			part.Key = &key
		}
		part.Data = b.value(e.value)
		out.Children = append(out.Children, part)
	}
	return whole
}
