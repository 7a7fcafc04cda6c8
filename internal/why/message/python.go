package message

import "strings"

// pythonWords reads why CPython ended the process (pylifecycle.c). Py_FatalError stores its text nowhere: it is among the arguments
// of a call, of the one to it or of the one that it makes to fatal_error:
//
//	fatal_error(prefix, msg, status)               until 3.8
//	fatal_error(stream, header, prefix, msg, status) since 3.9; header is 1
func pythonWords(p *Process) Words {
	for i := range p.Stack {
		named := p.Stack[i].is("_Py_FatalErrorFunc") // the name of the function comes before the text
		if !named && !p.Stack[i].is("Py_FatalError") {
			continue
		}
		w := Words{Message: "Fatal Python error", Source: "the call to Py_FatalError"}
		var parts []string
		if p.Argument != nil {
			if parts = p.fatalPassedOn(i, named); parts == nil {
				parts = p.fatalGiven(i, named)
			}
			if parts == nil && !named {
				parts = p.fatalForeign(i)
			}
		}
		if parts != nil {
			w.Message += ": " + strings.Join(parts, ": ")
		}
		return w
	}
	return Words{}
}

// fatalPassedOn is what frame i passes to fatal_error.
func (p *Process) fatalPassedOn(i int, named bool) []string {
	from := uint64(0)
	if header, ok := p.Argument(i, 1, false); ok && header == 1 {
		from = 2
	}
	msg, ok := p.Argument(i, int(from)+1, false)
	if !ok {
		return nil
	}
	if prefix, ok := p.Argument(i, int(from), false); named && ok {
		return p.fatalTexts(prefix, msg)
	} else if !named && ok && prefix == 0 {
		return p.fatalTexts(msg)
	}
	return nil
}

// fatalGiven is what frame i was called with.
func (p *Process) fatalGiven(i int, named bool) []string {
	first, ok := p.Argument(i+1, 0, true)
	if !ok {
		return nil
	}
	if !named {
		return p.fatalTexts(first)
	}
	msg, ok := p.Argument(i+1, 1, true)
	if !ok {
		return nil
	}
	return p.fatalTexts(first, msg)
}

// fatalForeign is what frame i was called with by libffi, which ctypes has call it: ffi_call takes a list of pointers to the arguments.
func (p *Process) fatalForeign(i int) []string {
	const between = 4 // functions of libffi without names
	const values = 3  // the argument of ffi_call
	for k := i + 1; k < len(p.Stack) && k <= i+between; k++ {
		if !p.Stack[k].is("ffi_call") {
			continue
		}
		list, ok := p.Argument(k+1, values, true)
		if !ok {
			return nil
		}
		at, ok := p.LookupWord(list)
		if !ok {
			return nil
		}
		text, ok := p.LookupWord(at)
		if !ok {
			return nil
		}
		return p.fatalTexts(text)
	}
	return nil
}

// fatalTexts reads texts; nil if one is none.
func (p *Process) fatalTexts(at ...uint64) (out []string) {
	for _, a := range at {
		s, ok := p.cstring(a, maxMessage)
		if !ok || s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
			return nil
		}
		out = append(out, strings.TrimSpace(s))
	}
	return out
}
