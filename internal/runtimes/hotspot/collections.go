package hotspot

import (
	"fmt"

	"github.com/corewalk/corewalk/report"
)

// A collector adds elements to a value until it has enough.
type collector struct {
	*treeBuilder
	v *report.Data
	n int // elements that the collection says it has; -1 if it does not say
}

// more reports whether another element is to be read; each costs of the budget.
func (c *collector) more() bool {
	if len(c.v.Children) >= c.atMost() || c.full() || c.spend(1) != nil {
		c.v.Truncated = true
		return false
	}
	return true
}

func (c *collector) add(obj uint64) bool {
	if !c.more() {
		return false
	}
	c.v.Children = append(c.v.Children, report.Child{Data: c.object(obj)})
	return true
}

func (c *collector) put(key, value uint64) bool {
	if !c.more() {
		return false
	}
	k := c.object(key)
	c.v.Children = append(c.v.Children, report.Child{Key: &k, Data: c.object(value)})
	return true
}

// collection reads the elements of a collection of java.util; false if the class is none of those that are known.
func (p *treeBuilder) collection(v *report.Data, obj uint64, name string) bool {
	c := &collector{p, v, -1}
	v.Kind = "sequence"
	ref := func(field string) uint64 { return p.refIn(obj, field) }
	switch name {
	case "java/util/ArrayList":
		c.n = p.intIn(obj, "size")
		c.slots(ref("elementData"), 0, c.n, false)
	case "java/util/Vector", "java/util/Stack":
		c.n = p.intIn(obj, "elementCount")
		c.slots(ref("elementData"), 0, c.n, false)
	case "java/util/Arrays$ArrayList":
		a, _ := p.arrayAt(ref("a"))
		c.n = a.length
		c.slots(ref("a"), 0, c.n, false)
	case "java/util/ImmutableCollections$ListN":
		a, _ := p.arrayAt(ref("elements"))
		c.n = a.length
		c.slots(ref("elements"), 0, c.n, false)
	case "java/util/ImmutableCollections$List12", "java/util/ImmutableCollections$Set12":
		c.n = 0
		for _, field := range []string{"e0", "e1"} {
			if e := ref(field); e != 0 && p.className(p.klassOf(e)) != "java/lang/Object" { // an object of its own marks the second as missing
				c.n++
				c.add(e)
			}
		}
	case "java/util/ImmutableCollections$SetN":
		c.n = p.intIn(obj, "size")
		c.slots(ref("elements"), 0, maxTable, true)
	case "java/util/ArrayDeque":
		a, _ := p.arrayAt(ref("elements"))
		if head, tail := p.intIn(obj, "head"), p.intIn(obj, "tail"); a.length > 0 {
			if c.n = tail - head; c.n < 0 {
				c.n += a.length
			}
			c.slots(ref("elements"), head, c.n, false)
		}
	case "java/util/LinkedList":
		c.n = p.intIn(obj, "size")
		for node, i := ref("first"), 0; node != 0 && i < c.n && c.add(p.refIn(node, "item")); i++ {
			node = p.refIn(node, "next")
		}
	case "java/util/HashMap", "java/util/concurrent/ConcurrentHashMap":
		v.Kind = "map"
		if c.n = p.intIn(obj, "size"); name != "java/util/HashMap" {
			c.n = -1
		}
		c.table(ref("table"), c.put)
	case "java/util/LinkedHashMap":
		v.Kind = "map"
		c.n = p.intIn(obj, "size")
		c.linked(obj, c.put)
	case "java/util/TreeMap":
		v.Kind = "map"
		c.n = p.intIn(obj, "size")
		c.sorted(ref("root"), maxHeight, c.put)
	case "java/util/HashSet", "java/util/LinkedHashSet":
		m := ref("map")
		c.n = p.intIn(m, "size")
		keys := func(key, _ uint64) bool { return c.add(key) }
		if p.className(p.klassOf(m)) == "java/util/LinkedHashMap" {
			c.linked(m, keys)
		} else {
			c.table(p.refIn(m, "table"), keys)
		}
	case "java/util/TreeSet":
		m := ref("m")
		c.n = p.intIn(m, "size")
		c.sorted(p.refIn(m, "root"), maxHeight, func(key, _ uint64) bool { return c.add(key) })
	case "java/util/ImmutableCollections$Map1":
		v.Kind = "map"
		c.n = 1
		c.put(ref("k0"), ref("v0"))
	case "java/util/ImmutableCollections$MapN":
		v.Kind = "map"
		c.n = p.intIn(obj, "size")
		c.pairs(ref("table"))
	default:
		v.Kind = "struct"
		return false
	}
	v.Text = simpleName(v.Type)
	if c.n >= 0 {
		v.Text += fmt.Sprintf("(%d)", c.n)
		v.Truncated = v.Truncated || len(v.Children) < c.n
	}
	return true
}

const (
	maxTable  = 1 << 16 // slots of a table
	maxChain  = 1 << 10 // nodes of a slot
	maxHeight = 64      // of a sorted tree
)

// slots adds elements of an array, which may begin anywhere and go on at its beginning.
func (c *collector) slots(array uint64, from, n int, skipNull bool) {
	a, ok := c.arrayAt(array)
	if !ok || a.element != 'L' || from < 0 {
		return
	}
	for i := range min(n, a.length) {
		e := c.oop(a.data + a.size*uint64((from+i)%a.length))
		if e == 0 && skipNull {
			if c.spend(1) != nil {
				return
			}
			continue
		}
		if !c.add(e) {
			return
		}
	}
}

// table adds the entries of a hash table: lists of nodes. What a slot of a ConcurrentHashMap has instead leads to nodes.
func (c *collector) table(array uint64, put func(key, value uint64) bool) {
	a, ok := c.arrayAt(array)
	if !ok || a.element != 'L' {
		return
	}
	for i := range min(a.length, maxTable) {
		if c.spend(1) != nil {
			return
		}
		node := c.oop(a.data + a.size*uint64(i))
		if first := c.refIn(node, "first"); first != 0 {
			node = first
		}
		for range maxChain {
			if node == 0 {
				break
			}
			value := "value"
			if _, _, ok := c.member(node, "val"); ok {
				value = "val"
			}
			if key := c.refIn(node, "key"); !put(key, c.refIn(node, value)) {
				return
			}
			node = c.refIn(node, "next")
		}
	}
}

// linked adds the entries of a LinkedHashMap, in its order.
func (c *collector) linked(m uint64, put func(key, value uint64) bool) {
	for node := c.refIn(m, "head"); node != 0 && put(c.refIn(node, "key"), c.refIn(node, "value")); {
		node = c.refIn(node, "after")
	}
}

// sorted adds the entries of a tree, in order.
func (c *collector) sorted(node uint64, height int, put func(key, value uint64) bool) bool {
	if node == 0 || height == 0 {
		return true
	}
	return c.spend(1) == nil && c.sorted(c.refIn(node, "left"), height-1, put) && put(c.refIn(node, "key"), c.refIn(node, "value")) &&
		c.sorted(c.refIn(node, "right"), height-1, put)
}

// pairs adds the entries of an array of keys and values.
func (c *collector) pairs(array uint64) {
	a, ok := c.arrayAt(array)
	if !ok || a.element != 'L' {
		return
	}
	for i := 0; i+1 < min(a.length, maxTable); i += 2 {
		if c.spend(1) != nil {
			return
		}
		if k := c.oop(a.data + a.size*uint64(i)); k != 0 && !c.put(k, c.oop(a.data+a.size*uint64(i+1))) {
			return
		}
	}
}
