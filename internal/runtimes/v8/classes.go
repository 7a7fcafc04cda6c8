package v8

import (
	"regexp"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// maxTransitions is the most maps between a map and that of the objects which a constructor makes.
const maxTransitions = 256

// maxPrototypes is the most objects that an object inherits from, each from the next.
const maxPrototypes = 32

// className is the name of an object's class, found as Node does: by the constructor that its prototypes name. A class that extends
// one of V8's own is told by nothing else. Without one it is the function that V8 knows to have made the object.
func (e *engine) className(obj uint64) string {
	if !isObject(obj) {
		return ""
	}
	m := e.Word(obj - 1)
	return e.classes.Get(m, func() string {
		for at := range e.prototypes(obj) {
			if f, ok := e.property(at, "constructor"); ok && e.isFunction(f) {
				if name := e.functionName(f); name != "" {
					return name
				}
			}
		}
		return e.maker(m)
	})
}

// prototypes are the objects that an object inherits from, the nearest first. They may be in a circle.
func (e *engine) prototypes(obj uint64) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for range maxPrototypes {
			if e.mapPrototype == 0 || !isObject(obj) || e.p.Spend(1) != nil {
				return
			}
			obj = e.at(e.Word(obj-1), e.mapPrototype)
			if t := e.typeOf(obj); t == 0 || t == e.types.oddball || !yield(obj) {
				return
			}
		}
	}
}

// functionName is the name of a function: the one that it was given, or that of the source.
func (e *engine) functionName(f uint64) (name string) {
	if w, ok := e.property(f, "name"); ok {
		name, _ = e.text(w)
	}
	if name == "" {
		if s := e.functionOf(e.at(f, e.shared)); s != nil {
			name = s.name
		}
	}
	return name
}

// maker is the name of the function that made the objects of a map.
func (e *engine) maker(m uint64) string {
	at := e.at(m, e.mapConstructor)
	for range maxTransitions {
		switch {
		case e.isFunction(at):
			if f := e.functionOf(e.at(at, e.shared)); f != nil {
				return f.name
			}
			return ""
		case e.typeOf(at) != e.types.meta || e.p.Spend(1) != nil:
			return ""
		}
		at = e.at(at, e.mapConstructor)
	}
	return ""
}

// errorType is what Node calls an error. Its own errors have their codes there: "AssertionError [ERR_ASSERTION]". The message need not be told the code again.
func (e *engine) errorType(obj uint64, message string) string {
	typ := e.className(obj)
	if name := e.errorName(obj); name != "" && (typ == "" || !ownErrors.Get()[name]) {
		typ = name
	}
	if typ == "" || e.noValues != "" || strings.Contains(typ, " [") {
		return typ
	}
	if w, ok := e.property(obj, "code"); ok {
		if code, ok := e.text(w); ok && isCode.Get().MatchString(code) && !strings.HasPrefix(message, code) && e.ofNode(obj, code) {
			typ += " [" + code + "]"
		}
	}
	return typ
}

// ofNode reports whether Node made an error as one of its own: it has or inherits a mark, or its written stack begins with the code.
func (e *engine) ofNode(obj uint64, code string) (marked bool) {
	look := func(at uint64) bool {
		e.each(at, func(key, _ uint64, _ bool) bool {
			marked = e.typeOf(key) == e.types.symbol && e.reads(e.at(key, e.symbolName), "kIsNodeError")
			return !marked
		})
		return !marked
	}
	if look(obj) {
		for at := range e.prototypes(obj) {
			if !look(at) {
				break
			}
		}
	}
	if marked {
		return true
	}
	head, _, _ := strings.Cut(e.writtenStack(obj), ":")
	return strings.HasSuffix(head, " ["+code+"]")
}

// isError reports whether an object is an error: one of V8's, or one that inherits from them, as those that came from a worker do.
func (e *engine) isError(obj uint64) bool {
	switch t := e.typeOf(obj); {
	case t == 0:
		return false
	case t == e.types.jsError:
		return true
	case e.noValues != "" || t < e.types.firstObject:
		return false
	}
	for at := range e.prototypes(obj) {
		if f, ok := e.property(at, "constructor"); ok && e.isFunction(f) {
			if s := e.functionOf(e.at(f, e.shared)); s != nil && s.script == nil && s.name == "Error" {
				return true
			}
		}
	}
	return false
}

// errorName is the name that an error has or inherits, "" if a function of JavaScript would have to be asked for it.
func (e *engine) errorName(obj uint64) (name string) {
	look := func(at uint64) (more bool) {
		more = true
		e.each(at, func(key, v uint64, accessor bool) bool {
			if !e.reads(key, "name") {
				return true
			}
			if more = false; !accessor {
				name, _ = e.text(v)
			}
			return false
		})
		return more
	}
	if !look(obj) {
		return name
	}
	for at := range e.prototypes(obj) {
		if !look(at) {
			break
		}
	}
	return name
}

// isCode tells the codes of errors from other things of that name.
var isCode = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]{2,63}$`) }}

// ownErrors are the names of JavaScript's own errors: errors of classes that extend them inherit the names.
var ownErrors = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{"Error": true, "EvalError": true, "RangeError": true, "ReferenceError": true, "SyntaxError": true, "TypeError": true,
		"URIError": true, "AggregateError": true, "SuppressedError": true}
}}
