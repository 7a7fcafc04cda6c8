package ruby

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
func (r *runtime) tree(v uint64, limits tasks.Limits) report.Data {
	b := treeBuilder{r: r, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, String: maxText, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
	return b.value(v)
}

// ValueAt implements tasks.Valuer: the object at an address.
func (r *runtime) ValueAt(at uint64, limits tasks.Limits) (report.Data, bool) {
	switch r.flags(at) & typeMask {
	case typeObject, typeArray, typeHash, typeStruct, typeString:
		v := r.tree(at, limits)
		return v, v.Type != ""
	}
	return report.Data{}, false
}

func (b *treeBuilder) value(v uint64) report.Data {
	r := b.r
	if b.parts++; b.parts > b.all || r.p.Spend(4) != nil {
		b.parts = b.all // nothing more is read
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	out := report.Data{Kind: r.kindOf(v), Type: r.typeOf(v)}
	if r.object(v) {
		out.Address = report.Addr(v)
	}
	if s, ok := r.scalar(v, b.most.String); ok {
		out.Text = s
		out.Truncated = out.Kind == "string" && strings.HasSuffix(s, `"...`)
		return out
	}
	if s, ok := r.short(v, b.most.String); ok && r.is(v, typeStruct) {
		out.Kind, out.Text = "text", s
		return out
	} else if ok {
		out.Text = s
	}
	if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, v) {
		out.Text, out.Truncated = "...", true
		return out
	}
	b.seen = append(b.seen, v)
	list, whole := r.elements(v, b.most.At(len(b.seen)-1))
	for _, e := range list {
		if b.parts >= b.all {
			whole = false
			break
		}
		part := report.Child{Name: e.name}
		if out.Kind == "map" {
			key := report.Data{Kind: r.kindOf(e.key), Type: r.typeOf(e.key), Text: r.show(e.key, tasks.Limits{Elements: 3, String: maxText, Depth: 1})}
			part.Key = &key
		}
		part.Data = b.value(e.value)
		out.Children = append(out.Children, part)
	}
	out.Truncated = !whole
	b.seen = b.seen[:len(b.seen)-1]
	return out
}
