package php

import (
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// A treeBuilder makes the tree of a value.
type treeBuilder struct {
	r     *runtime
	asked tasks.Limits
	most  tasks.Limits
	all   int
	parts int
	seen  []uint64
}

// tree reads a value with its parts.
func (r *runtime) tree(v zval, limits tasks.Limits) report.Data {
	b := treeBuilder{r: r, asked: limits, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, String: maxText, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
	return b.value(v)
}

// ValueAt implements tasks.Valuer: the object or the array at an address.
func (r *runtime) ValueAt(at uint64, limits tasks.Limits) (report.Data, bool) {
	for _, kind := range [...]byte{typeObject, typeArray, typeString} {
		if r.counted(at, uint32(kind)) {
			v := r.tree(zval{value: at, kind: kind}, limits)
			return v, v.Type != ""
		}
	}
	return report.Data{}, false
}

// bare is a scalar that var_dump writes without its type, which a tree has apart: 7 of int(7), "tea" of string(3) "tea".
func bare(s, kind string) string {
	switch kind {
	case "string":
		if _, text, ok := strings.Cut(s, ") "); ok {
			return text
		}
	case "int", "float", "bool":
		if _, text, ok := strings.Cut(strings.TrimSuffix(s, ")"), "("); ok {
			return text
		}
	}
	return s
}

func (b *treeBuilder) value(v zval) report.Data {
	r := b.r
	if b.parts++; b.parts > b.all || r.p.Spend(4) != nil {
		b.parts = b.all // nothing more is read
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	out := report.Data{Type: r.typeOf(v)}
	switch v.kind {
	case typeNull, typeUndef:
		out.Kind = "void"
	case typeFalse, typeTrue:
		out.Kind = "bool"
	case typeLong:
		out.Kind = "int"
	case typeDouble:
		out.Kind = "float"
	case typeString:
		out.Kind, out.Address = "string", report.Addr(v.value)
		out.Truncated = r.field(v.value, "string.length") > uint64(b.most.String)
	default:
		out.Kind = "text"
	}
	if s, ok := r.scalar(v, b.most.String); ok {
		out.Text = bare(s, out.Kind)
		return out
	}
	if v.kind != typeArray && v.kind != typeObject || !r.counted(v.value, uint32(v.kind)) || out.Type == "" {
		out.Text = "?"
		return out
	}
	out.Address = report.Addr(v.value)
	array := v.kind == typeArray
	if array {
		out.Kind, out.Text = "map", "array("+strconv.FormatUint(uint64(r.number(v.value, "array.count")), 10)+")"
		if r.number(v.value, "array.flags")&packed != 0 {
			out.Kind = "sequence"
		}
	} else {
		w := printer{r: r, most: tasks.Limits{String: maxText}, all: 1}
		out.Kind, out.Text = "struct", "object("+out.Type+")#"+strconv.FormatUint(uint64(r.number(v.value, "object.handle")), 10)
		_, enum := r.enumCase(v.value)
		if enum || out.Type == "Closure" {
			w.value(v, 0)
			out.Kind, out.Text = "text", w.String()
			return out
		}
	}
	if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, v.value) {
		out.Text, out.Truncated = "...", true
		return out
	}
	b.seen = append(b.seen, v.value)
	list, whole := r.elements(v, b.most.At(len(b.seen)-1))
	for i := range list {
		if b.parts >= b.all {
			whole = false
			break
		}
		e := &list[i]
		part := report.Child{Data: b.value(e.value)}
		switch {
		case !array:
			part.Name = e.key
		case out.Kind == "map":
			key := report.Data{Kind: "int", Type: "int", Text: strconv.FormatInt(e.number, 10)}
			if e.text {
				key = report.Data{Kind: "string", Type: "string", Text: quoted(e.key)}
			}
			part.Key = &key
		}
		out.Children = append(out.Children, part)
	}
	out.Truncated = !whole
	b.seen = b.seen[:len(b.seen)-1]
	return out
}
