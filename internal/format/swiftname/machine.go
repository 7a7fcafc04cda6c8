package swiftname

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// machine reads one name.
type machine struct {
	text  string
	pos   int
	stack []*node
	subst []*node  // what later parts may refer to
	words []string // what later identifiers may refer to
	nodes int
}

func (m *machine) peek() byte {
	if m.pos < len(m.text) {
		return m.text[m.pos]
	}
	return 0
}

//go:noinline
func (m *machine) next() byte {
	c := m.peek()
	if m.pos < len(m.text) {
		m.pos++
	}
	return c
}

//go:noinline
func (m *machine) nextIs(c byte) bool {
	if c != 0 && m.peek() == c {
		m.pos++
		return true
	}
	return false
}

// make returns a new node, or nil if one of its parts is.
func (m *machine) make(k kind, text string, kids ...*node) *node {
	if slices.Contains(kids, nil) || m.nodes >= maxNodes {
		return nil
	}
	m.nodes++
	return &node{kind: k, text: text, kids: kids}
}

func (m *machine) push(n *node) { m.stack = append(m.stack, n) }

// pop takes the last node if it is one of those.
func (m *machine) pop(is func(kind) bool) *node {
	if len(m.stack) == 0 {
		return nil
	}
	n := m.stack[len(m.stack)-1]
	if is != nil && !is(n.kind) {
		return nil
	}
	m.stack = m.stack[:len(m.stack)-1]
	return n
}

//go:noinline
func (m *machine) popKind(k kind) *node {
	if len(m.stack) == 0 || m.stack[len(m.stack)-1].kind != k {
		return nil
	}
	return m.pop(nil)
}

//go:noinline
func (m *machine) popType() *node { return m.pop(isType) }

// referable returns a part after it was entered into the list of what later parts may refer to.
func (m *machine) referable(n *node) *node {
	if n != nil {
		m.subst = append(m.subst, n)
	}
	return n
}

// symbol reads all.
func (m *machine) symbol() *node {
	for m.pos < len(m.text) {
		n := m.operator()
		if n == nil || m.nodes+len(m.stack) >= maxNodes {
			return nil
		}
		m.push(n)
	}
	top := &node{kind: kGlobal}
	parent := top
	m.popKind(kSuffix)
	for a := m.pop(isAttribute); a != nil; a = m.pop(isAttribute) {
		if a.kind == kPartialApply {
			a = &node{kind: a.kind, text: a.text}
			parent.kids = append(parent.kids, a)
			parent = a
			continue
		}
		parent.kids = append(parent.kids, a)
	}
	if len(m.stack) != 1 || !isEntity(m.stack[0].kind) && m.stack[0].kind < kPrefix && (m.stack[0].kind != kIdent || len(parent.kids) == 0) {
		return nil // something was left over
	}
	parent.kids = append(parent.kids, m.stack[0])
	return top
}

// natural reads a decimal number; it returns -1 if there is none.
func (m *machine) natural() int {
	n, digits := 0, 0
	for c := m.peek(); c >= '0' && c <= '9'; c = m.peek() {
		if n = n*10 + int(c-'0'); n > 1<<30 {
			return -1
		}
		m.pos++
		digits++
	}
	if digits == 0 {
		return -1
	}
	return n
}

// number reads an index: "_" is 0, "0_" is 1. It returns -1 if there is none.
func (m *machine) number() int {
	if m.nextIs('_') {
		return 0
	}
	if n := m.natural(); n >= 0 && m.nextIs('_') {
		return n + 1
	}
	return -1
}

// multiple reads references to earlier parts.
func (m *machine) multiple() *node {
	repeat := -1
	for {
		c := m.next()
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			i, last := int(c-'a'), false
			if c <= 'Z' {
				i, last = int(c-'A'), true
			}
			if i >= len(m.subst) || repeat > maxRepeat {
				return nil
			}
			for ; repeat > 1; repeat-- {
				m.push(m.subst[i])
			}
			if last {
				return m.subst[i]
			}
			m.push(m.subst[i])
			repeat = -1
		case c == '_':
			if i := repeat + 27; i < len(m.subst) {
				return m.subst[i]
			}
			return nil
		case c >= '0' && c <= '9':
			m.pos--
			if repeat = m.natural(); repeat < 0 {
				return nil
			}
		default:
			return nil
		}
		if len(m.stack) > maxNodes {
			return nil
		}
	}
}

// identifier reads a name, which may consist of words of earlier names.
func (m *machine) identifier() *node {
	if c := m.peek(); c < '0' || c > '9' {
		return nil
	}
	words, puny := false, false
	if m.nextIs('0') {
		if m.nextIs('0') {
			puny = true
		} else {
			words = true
		}
	}
	var b strings.Builder
	for {
		for words && letter(m.peek()) {
			c := m.next()
			i := int(c - 'a')
			if c <= 'Z' {
				i, words = int(c-'A'), false
			}
			if i >= len(m.words) {
				return nil
			}
			b.WriteString(m.words[i])
		}
		if m.nextIs('0') {
			break
		}
		n := m.natural()
		if n <= 0 {
			return nil
		}
		if puny {
			m.nextIs('_')
		}
		if n > len(m.text)-m.pos {
			return nil
		}
		part := m.text[m.pos : m.pos+n]
		m.pos += n
		if puny {
			s, ok := punycode(part)
			if !ok {
				return nil
			}
			b.WriteString(s)
		} else {
			b.WriteString(part)
			m.addWords(part)
		}
		if !words {
			break
		}
	}
	if b.Len() == 0 || b.Len() > maxOutput || !utf8.ValidString(b.String()) {
		return nil
	}
	return m.referable(m.make(kIdent, b.String()))
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// maxWords is how many words later identifiers may refer to.
const maxWords = 26

// addWords enters the words of an identifier into the list: they begin with a capital letter or behind "_".
func (m *machine) addWords(s string) {
	start := -1
	for i := 0; i <= len(s); i++ {
		var c byte
		if i < len(s) {
			c = s[i]
		}
		if start >= 0 && (c == '_' || c == 0 || !upper(s[i-1]) && upper(c)) {
			if i-start >= 2 && len(m.words) < maxWords {
				m.words = append(m.words, s[start:i])
			}
			start = -1
		}
		if start < 0 && c != 0 && c != '_' && (c < '0' || c > '9') {
			start = i
		}
	}
}

// punycode decodes RFC 3492 with Swift's letters: "_" before the last part, A to J for digits.
func punycode(s string) (string, bool) {
	var out []rune
	if i := strings.LastIndexByte(s, '_'); i >= 0 {
		for _, c := range []byte(s[:i]) {
			if c >= 0x80 {
				return "", false
			}
			out = append(out, rune(c))
		}
		s = s[i+1:]
	}
	n, at, bias := 128, 0, 72
	for s != "" {
		old, w := at, 1
		for k := 36; ; k += 36 {
			if s == "" {
				return "", false
			}
			c := s[0]
			s = s[1:]
			digit := int(c - 'a')
			if c >= 'A' && c <= 'J' {
				digit = int(c-'A') + 26
			} else if c < 'a' || c > 'z' {
				return "", false
			}
			if at += digit * w; at > 1<<28 || w > 1<<28 {
				return "", false
			}
			t := min(max(k-bias, 1), 26)
			if digit < t {
				break
			}
			w *= 36 - t
		}
		size := len(out) + 1
		delta := at - old
		if old == 0 {
			delta /= 700
		} else {
			delta /= 2
		}
		delta += delta / size
		k := 0
		for ; delta > 455; k += 36 {
			delta /= 35
		}
		bias = k + 36*delta/(delta+38)
		n += at / size
		at %= size
		if n > utf8.MaxRune {
			return "", false
		}
		r := rune(n)
		if n >= 0xd800 && n < 0xd880 {
			r = rune(n - 0xd800) // characters that identifiers cannot have are moved there
		}
		if !utf8.ValidRune(r) {
			return "", false
		}
		out = slices.Insert(out, at, r)
		at++
	}
	return string(out), true
}
