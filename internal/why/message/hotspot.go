package message

import "strings"

// maxDetail is the most bytes of a text of the Java virtual machine.
const maxDetail = 2000

// hotspotWords reads why the Java virtual machine ended the program: it found an error in itself, or was told to end with
// the memory (VMError of vmError.cpp). Of a fault that it caught it has no text.
func hotspotWords(p *Process) Words {
	reports := false
	for i := range p.Stack {
		reports = reports || p.Stack[i].is("VMError::report_and_die")
	}
	if !reports {
		return Words{}
	}
	lib, at, ok := p.symbol("_ZN7VMError11_detail_msgE") // a buffer
	_, kindAt, ok2 := p.symbol("_ZN7VMError8_messageE")  // a pointer
	if !ok || !ok2 {
		return Words{}
	}
	detail, ok := p.cstring(at, maxDetail)
	text, ok2 := p.LookupWord(kindAt)
	if !ok || !ok2 || text == 0 {
		return Words{}
	}
	kind, ok := p.cstring(text, maxDetail)
	if detail = strings.TrimSpace(detail); !ok || kind == "" {
		return Words{}
	}
	w := Words{Message: kind, Source: in("VMError::_message", lib)}
	if detail != "" {
		w.Message += ": " + detail
	}
	if strings.HasPrefix(detail, "OutOfMemory encountered") || strings.HasPrefix(kind, "Out of Memory") {
		w.Cause = OutOfMemory
	}
	return w
}
