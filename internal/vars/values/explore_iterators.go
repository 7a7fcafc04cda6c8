package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// iterated returns the element that an iterator of a C++ library is at; false if o is none.
func (b *builder) iterated(o *Object) (Object, bool, error) {
	t := o.Type.Strip()
	if !types.IsCXX(t.Language) || !strings.Contains(t.BareName, "iter") {
		return Object{}, false, nil
	}
	w := b.word()
	switch plainName(t) {
	case "__gnu_cxx::__normal_iterator":
		return b.atPointer(o, "_M_current")
	case "std::_Deque_iterator":
		return b.atPointer(o, "_M_cur")
	case "std::__1::__wrap_iter", "std::__ndk1::__wrap_iter":
		if to, ok, err := b.atPointer(o, "__i_"); ok || err != nil {
			return to, ok, err
		}
		return b.atPointer(o, "__i")
	case "std::_List_iterator", "std::_List_const_iterator":
		return b.atNode(o, "_M_node", t.TypeArg(0), 2*w)
	case "std::_Fwd_list_iterator", "std::_Fwd_list_const_iterator":
		return b.atNode(o, "_M_node", t.TypeArg(0), w)
	case "std::_Rb_tree_iterator", "std::_Rb_tree_const_iterator":
		return b.atNode(o, "_M_node", t.TypeArg(0), 4*w)
	case "std::__detail::_Node_iterator", "std::__detail::_Node_const_iterator":
		return b.atNode(o, "_M_cur", t.TypeArg(0), w)
	}
	return Object{}, false, nil
}

// atPointer returns what a member of an iterator points to.
func (b *builder) atPointer(o *Object, name string) (Object, bool, error) {
	elem, _, ok := b.elem(o, name)
	addr, ok1 := b.num(o, name)
	if !ok || !ok1 {
		return Object{}, false, nil
	}
	to, err := b.inMemory(elem, addr)
	return to, err == nil, err
}

// atNode returns the element of a node, which begins behind size bytes of links.
func (b *builder) atNode(o *Object, name string, elem *types.Type, size uint64) (Object, bool, error) {
	addr, ok := b.num(o, name)
	if elem == nil {
		elem = b.namedArg(o.Type.Strip().BareName)
	}
	if !ok || elem == nil {
		return Object{}, false, nil
	}
	if addr == 0 {
		return Object{}, false, wrong("the iterator is at no element")
	}
	to, err := b.inMemory(elem, addr+AlignUp(size, b.align(elem)))
	return to, err == nil, err
}

// namedArg returns the first template argument by the name of a class: some compilers describe none for iterators.
func (b *builder) namedArg(name string) *types.Type {
	_, args, ok := strings.Cut(name, "<")
	if !ok {
		return nil
	}
	depth := 0
	for i := range len(args) {
		switch c := args[i]; {
		case c == '<' || c == '(':
			depth++
		case depth == 0 && (c == ',' || c == '>'):
			t, ok := b.p.Types.Lookup(b.f.Unit(), strings.TrimSpace(args[:i]), b.word())
			if !ok {
				return nil
			}
			return t
		case c == '>' || c == ')':
			depth--
		}
	}
	return nil
}
