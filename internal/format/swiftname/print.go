package swiftname

import (
	"strconv"
	"strings"
)

// printer writes a name.
type printer struct {
	o      Options
	b      strings.Builder
	steps  int
	depth  int
	failed bool
	// special says that it was already written that this is a specialization.
	special bool
	// accessor is written behind the variable or subscript whose function it is.
	accessor string
}

// str is not inlined, nor are those of a machine below: that would be a quarter of the package's code.
//
//go:noinline
func (p *printer) str(s string) { p.b.WriteString(s) }

func (p *printer) print(n *node) {
	if n == nil || p.failed || p.b.Len() > maxOutput {
		return
	}
	if p.steps++; p.steps > maxSteps {
		p.failed = true
		return
	}
	if p.depth++; p.depth > maxDepth {
		p.failed = true
		return
	}
	p.node(n)
	p.depth--
}

func (p *printer) list(list []*node, sep string) {
	for i, n := range list {
		if i > 0 {
			p.str(sep)
		}
		p.print(n)
	}
}

func (p *printer) node(n *node) {
	switch n.kind {
	case kIdent, kBuiltin, kInteger, kOperator:
		p.str(n.text)
	case kLocal:
		p.print(n.kids[0])
		p.str(" #" + strconv.Itoa(n.index+1))
	case kRelated:
		p.str("related decl '" + n.text + "' for ")
		p.print(n.kids[0])
	case kPrivate:
		p.print(n.kid(0))
	case kModule:
		p.str(n.text)
	case kExtension:
		p.print(n.kids[0])
		if n.kids[2].kind == kSignature {
			p.signature(n.kids[2])
		}
	case kAnonymous:
		p.print(n.kids[0])
	case kClass, kStruct, kEnum, kProtocol, kAlias, kOtherType, kFunc, kVar, kSub, kInit, kPlain, kOf, kIn, kOnce, kParameterDecl,
		kAccessor, kStatic, kOpaqueOf:
		p.entity(n)
	case kConformance:
		if n.kids[2].kind == kSignature && !p.o.NoParams {
			p.signature(n.kids[2])
			p.str(" ")
		}
		p.print(n.kids[0])
	case kAssocName:
		if n.kids[1].kind != kNone {
			p.print(n.kids[1])
			p.str(".")
		}
		p.print(n.kids[0])
	case kWords:
		p.list(n.kids, n.text)
	case kJoined:
		words := strings.Split(n.text, "|")
		for i, k := range n.kids {
			if i < len(words) {
				p.str(words[i])
			}
			p.print(k)
		}
	case kPrefix:
		p.str(n.text)
		p.print(n.kids[0])
	case kAttribute:
		p.str(n.text)
		if len(n.kids) > 0 {
			p.print(n.kids[0])
			p.str(" for ")
		}
	case kSpecialized:
		if !p.special && !p.o.NoParams {
			p.str("specialized ")
		}
		p.special = true
	case kPartialApply:
		p.str(n.text)
		if len(n.kids) > 0 {
			p.str(" for ")
			p.list(n.kids, "")
		}
	case kGlobal:
		p.list(n.kids, "")
	case kWitness:
		p.str("protocol witness for ")
		p.print(n.kids[1])
		p.str(" in conformance ")
		p.print(n.kids[0])
	default:
		p.aType(n)
	}
}

// inContext writes what a name has before it: the types in which it is declared, and a point. It returns the rest, which
// is written behind the name: what is declared in functions is so.
func (p *printer) inContext(ctx *node) (rest *node) {
	switch ctx.kind {
	case kModule, kNone:
		return nil
	case kClass, kStruct, kEnum, kProtocol, kAlias, kOtherType:
		if ctx.kids[1].kind == kLocal {
			return ctx
		}
		p.depth++
		rest = p.inContext(ctx.kids[0])
		p.print(ctx.kids[1])
		p.depth--
	case kExtension, kBound:
		p.print(ctx)
	case kAnonymous:
		p.depth++
		rest = p.inContext(ctx.kids[0])
		p.depth--
		return rest
	default:
		return ctx
	}
	p.str(".")
	return rest
}

// behind writes the part of the context that is written behind a name.
func (p *printer) behind(word string, ctx *node) {
	if ctx == nil || ctx.kind == kModule {
		return
	}
	p.str(word)
	p.print(ctx)
}

// entity writes functions, variables, types and what belongs to them.
func (p *printer) entity(n *node) {
	ctx := n.kid(0)
	accessor := p.accessor
	p.accessor = ""
	var rest *node
	switch n.kind {
	case kStatic:
		p.str("static ")
		p.accessor = accessor
		p.print(ctx)
		return
	case kOpaqueOf:
		p.str("<<opaque return type of ")
		p.print(ctx)
		p.str(">>")
		return
	case kAccessor:
		p.accessor = "." + n.text
		p.print(ctx)
		p.accessor = accessor
		return
	case kOf:
		p.str(n.text)
		p.behind(" of ", ctx)
		return
	case kIn:
		p.str(n.text)
		p.behind(" in ", ctx)
		return
	case kOnce:
		p.str(n.text)
		p.list(n.kids[1:], ", ")
		return
	}
	if local := n.kid(1); local != nil && local.kind == kLocal {
		rest = ctx
	} else {
		rest = p.inContext(ctx)
	}
	switch n.kind {
	case kSub:
		p.str("subscript")
		if accessor == "" {
			p.params(n.kids[1], n.kids[2])
		}
	case kFunc:
		p.print(n.kids[1])
		if n.kids[1].kind == kLocal && !p.o.NoParams {
			p.str(" ")
		}
		p.params(n.kids[2], n.kids[3])
	case kInit:
		p.str(n.text)
		p.params(n.kids[1], n.kids[2])
	case kPlain:
		p.str(n.text)
	default:
		p.print(n.kids[1])
	}
	p.str(accessor)
	p.behind(" in ", rest)
}

// params writes the generic parameters of a function and the labels of its parameters.
func (p *printer) params(labels, t *node) {
	if p.o.NoParams {
		return
	}
	if t.kind == kGeneric {
		p.signature(t.kids[0])
		t = t.kids[1]
	}
	if t.kind != kFuncType {
		return
	}
	params := t.kids[0]
	p.str("(")
	n := 1
	if params.kind == kTuple {
		n = len(params.kids)
	}
	for i := range n {
		label := "_"
		if l := labels.kid(i); labels.kind == kLabels && l != nil && l.kind == kIdent {
			label = l.text
		} else if labels.kind == kNone && params.kind == kTuple {
			if name := params.kids[i].kid(0); name != nil && name.kind == kIdent {
				label = name.text
			}
		}
		p.str(label + ":")
	}
	p.str(")")
}

func (p *printer) signature(sig *node) {
	if p.o.NoParams {
		return
	}
	p.str("<")
	first := true
	for depth, count := range sig.ints {
		if !first && depth > 0 {
			p.str("><")
			first = true
		}
		for i := range count {
			if i == 128 {
				p.str(", ...")
				break
			}
			if !first {
				p.str(", ")
			}
			first = false
			for _, r := range sig.kids {
				if t := r.kid(0); t != nil && t.kind == kParam && t.depth == depth && t.index == i {
					if r.kind == kPack {
						p.str("each ")
					} else if r.kind == kValueParm {
						p.str("let ")
					}
				}
			}
			p.str(paramName(depth, i))
		}
	}
	p.str(">")
}

func paramName(depth, index int) string {
	name := ""
	for {
		name += string(rune('A' + index%26))
		if index /= 26; index == 0 {
			break
		}
	}
	if depth != 0 {
		name += strconv.Itoa(depth)
	}
	return name
}

// aType writes types.
func (p *printer) aType(n *node) {
	switch n.kind {
	case kBound:
		p.boundType(n)
	case kFixedArray:
		p.str("Builtin.FixedArray<")
		p.list(n.kids, ", ")
		p.str(">")
	case kTuple:
		p.str("(")
		p.list(n.kids, ", ")
		p.str(")")
	case kElement:
		if n.kids[0].kind == kIdent {
			p.str(n.kids[0].text + ": ")
		}
		p.print(n.kids[1])
		p.str(n.text)
	case kFuncType:
		p.funcType(n)
	case kSpecifier:
		p.str(n.text)
		p.print(n.kids[0])
	case kMetatype:
		p.str(n.text)
		p.simple(n.kids[0])
		if t := n.kids[0].kind; t == kExistential || t == kConstrained || t == kClassAnd {
			p.str(".Protocol")
			return
		}
		p.str(".Type")
	case kMetatypeOfAny:
		p.str(n.text)
		p.simple(n.kids[0])
		p.str(".Type")
	case kParam:
		if n.text != "" {
			p.str(n.text)
			return
		}
		p.str(paramName(n.depth, n.index))
	case kMember:
		p.print(n.kids[0])
		p.str(".")
		p.print(n.kids[1])
	case kExistential:
		switch {
		case len(n.kids) == 0 && n.text == "":
			p.str("Any")
		case len(n.kids) == 0:
			p.str(n.text)
		default:
			p.list(n.kids, " & ")
			if n.text != "" {
				p.str(" & " + n.text)
			}
		}
	case kClassAnd:
		p.print(n.kids[0])
		for _, k := range n.kids[1].kids {
			p.str(" & ")
			p.print(k)
		}
	case kConstrained:
		p.print(n.kids[0])
	case kGeneric:
		p.signature(n.kids[0])
		p.str(" ")
		p.print(n.kids[1])
	case kDynamicSelf:
		p.str("Self")
	case kImplFunc:
		p.implFunc(n)
	case kImplParam, kImplResult:
		p.str(n.text + " ")
		p.print(n.kid(0))
	case kPackType:
		p.str("Pack{")
		p.list(n.kids, ", ")
		p.str("}")
	case kPackExpansion:
		p.str("repeat ")
		p.print(n.kids[0])
	case kPackElement:
		p.print(n.kids[0])
	case kOpaque:
		p.print(n.kids[0])
	case kSomeType:
		p.str("some")
	case kBoxType:
		p.str("{ ")
		for i, k := range n.kids {
			if i > 0 {
				p.str(", ")
			}
			if k.kind == kSpecifier {
				p.str("var ")
				k = k.kids[0]
			} else {
				p.str("let ")
			}
			p.print(k)
		}
		p.str(" }")
	case kErrorType:
		p.str("<ERROR TYPE>")
	case kSugarOptional:
		p.simple(n.kids[0])
		p.str("?")
	case kSugarArray:
		p.str("[")
		p.print(n.kids[0])
		p.str("]")
	case kSugarDict:
		p.str("[")
		p.list(n.kids, " : ")
		p.str("]")
	}
}

// simple writes a type in parentheses if it does not bind as tightly as what follows.
func (p *printer) simple(n *node) {
	loose := n.kind == kFuncType || n.kind == kImplFunc || n.kind == kClassAnd || n.kind == kSpecifier || n.kind == kPackExpansion ||
		n.kind == kExistential && (len(n.kids) > 1 || len(n.kids) == 1 && n.text != "")
	if loose {
		p.str("(")
	}
	p.print(n)
	if loose {
		p.str(")")
	}
}

func (p *printer) boundType(n *node) {
	of, args := n.kids[0], n.kids[1:]
	if of.kind == kEnum || of.kind == kStruct {
		if ctx := of.kids[0]; ctx.kind == kModule && ctx.text == "Swift" && of.kids[1].kind == kIdent {
			switch name := of.kids[1].text; {
			case name == "Optional" && len(args) == 1:
				p.simple(args[0])
				p.str("?")
				return
			case name == "Array" && len(args) == 1:
				p.str("[")
				p.print(args[0])
				p.str("]")
				return
			case name == "Dictionary" && len(args) == 2:
				p.str("[")
				p.list(args, " : ")
				p.str("]")
				return
			}
		}
	}
	p.print(of)
	p.str("<")
	p.list(args, ", ")
	p.str(">")
}

func (p *printer) funcType(n *node) {
	p.str(n.text)
	if params := n.kids[0]; params.kind == kTuple {
		p.print(params)
	} else {
		p.str("(")
		p.print(params)
		p.str(")")
	}
	if n.index == 1 {
		p.str(" async")
	}
	if throws := n.kid(2); throws != nil {
		p.str(" throws")
		if throws.kind == kTypedThrows {
			p.str("(")
			p.print(throws.kids[0])
			p.str(")")
		}
	}
	p.str(" -> ")
	p.print(n.kids[1])
}

func (p *printer) implFunc(n *node) {
	p.str(n.text + "(")
	results := 0
	for results < len(n.kids) && n.kids[results].kind == kImplParam {
		results++
	}
	p.list(n.kids[:results], ", ")
	p.str(") -> (")
	p.list(n.kids[results:], ", ")
	p.str(")")
}
