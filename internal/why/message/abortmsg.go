package message

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
)

// nearLibc is how many libraries, from the youngest frame on, are searched on the stack of a process that
// aborts. The kernel's own and the thread library may come before the C library. Symbol tables are long, so the
// other libraries are not searched.
const nearLibc = 3

// abortMessage reads the text that glibc stored before it aborted (struct abort_msg_s: its size, an unsigned
// int, then the text). The allocator, assertions, _FORTIFY_SOURCE checks and the stack protector all use it.
func abortMessage(p *Process) Words {
	libs := p.libraries()
	lib, at, ok := p.symbolIn(libs[:min(len(libs), nearLibc)], "__abort_msg")
	if !ok {
		return Words{}
	}
	msg, ok := p.LookupWord(at)
	if !ok || msg == 0 {
		return Words{}
	}
	const header = 4
	size, ok := p.Uint(msg, header)
	if !ok || size <= header {
		return Words{}
	}
	s, ok := p.cstring(msg+header, int(min(size-header, maxMessage)))
	if s = strings.TrimRight(s, "\n"); !ok || s == "" {
		return Words{}
	}
	w := Words{Message: s, Source: in("__abort_msg", lib)}
	w.judge(p.Program)
	return w
}

// Android's C library stores the text in a separate, named mapping: two magic numbers, the size as a word, then
// the text (bionic, android_set_abort_message.cpp).
const (
	androidMapping = "[anon:abort message]"
	androidMagic1  = 0xb18e40886ac388f0
	androidMagic2  = 0xc6dfba755a1de0b5
)

// androidMessage reads the text that Android's C library stored. No symbol and no pointer of the dying thread
// leads to the mapping, so it is found by its name.
func androidMessage(p *Process) Words {
	if p.NamedMapping == nil {
		return Words{}
	}
	m, ok := p.NamedMapping(androidMapping)
	if !ok {
		return Words{}
	}
	m1, _ := p.Uint(m.Start, 8)
	m2, _ := p.Uint(m.Start+8, 8)
	if m1 != androidMagic1 || m2 != androidMagic2 {
		return Words{}
	}
	w := uint64(p.Arch.WordSize)
	size, ok := p.LookupWord(m.Start + 16)
	head := 16 + w
	if !ok || size <= head || size > m.End-m.Start {
		return Words{}
	}
	s, ok := p.cstring(m.Start+head, int(min(size-head, maxMessage)))
	if s = strings.TrimRight(s, "\n"); !ok || s == "" {
		return Words{}
	}
	words := Words{Message: s, Source: "the mapping " + androidMapping}
	words.judge(p.Program)
	return words
}

// judge sets the cause and the reason by the C library's message.
func (w *Words) judge(program string) {
	s := w.Message
	if a, ok := parseAssertion(s, program); ok {
		w.Cause, w.Assertion, w.Reason = FailedAssertion, a, a.Reason()
		if a.File == "malloc.c" && (strings.HasPrefix(a.Function, "_int_") || a.Function == "sysmalloc") { // of glibc to 2.34
			w.Cause = HeapCorruption
		}
		return
	}
	switch {
	case strings.HasPrefix(s, "*** stack smashing detected"):
		w.Cause = StackOverrun
	case strings.HasPrefix(s, "*** "):
		w.Cause = InvalidArgument // of _FORTIFY_SOURCE
	case heapText(s):
		w.Cause = HeapCorruption
	}
	w.Reason = strings.TrimSpace(strings.TrimSuffix(strings.Trim(s, "* "), ": terminated"))
	w.Reason = strings.TrimSuffix(w.Reason, " ***")
}

// heapText reports whether glibc's allocator wrote the text (the arguments of malloc_printerr, with the
// function's name in front in older versions).
func heapText(s string) bool {
	for _, begin := range []string{
		"double free or corruption", "free(): ", "malloc(): ", "malloc_consolidate(): ", "realloc(): ", "munmap_chunk(): ", "mremap_chunk(): ",
		"corrupted size vs. prev_size", "corrupted double-linked list", "corrupted unsorted chunks", "break adjusted to free malloc space",
		"invalid fastbin entry", "chunk_main_arena", "malloc_check_get_size", "tcache_thread_shutdown(): ", "Fatal glibc error: malloc assertion failure in ",
	} {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}

// parseAssertion parses glibc's text of a failed assertion:
//
//	program: file:line: function: Assertion `expression' failed.
//	program: file:line: function: Unexpected error: text.
//
// The program's name and the function may be missing. In C++ the function contains colons. If the program's
// name is not known, it is the text before the first colon and space, provided that the file follows.
func parseAssertion(s, program string) (*Assertion, bool) {
	a := &Assertion{}
	head, ok := a.cutCondition(s)
	if !ok {
		return nil, false
	}
	if program != "" {
		head = strings.TrimPrefix(head, program+": ")
	}
	file, rest, line, ok := cutLine(head)
	if !ok {
		return nil, false
	}
	if _, behind, more := strings.Cut(file, ": "); more {
		file = behind
	}
	a.File, a.Line, a.Function = file, line, strings.TrimSuffix(rest, ": ")
	return a, a.Expression+a.Error != "" && a.File != ""
}

// cutCondition cuts the failed condition, or the error that assert_perror was given, off the end of the text.
func (a *Assertion) cutCondition(s string) (head string, ok bool) {
	if head, tail, ok := strings.Cut(s, "Assertion `"); ok {
		a.Expression, ok = strings.CutSuffix(tail, "' failed.")
		return head, ok
	}
	if head, tail, ok := strings.Cut(s, "Unexpected error: "); ok {
		a.Error, ok = strings.CutSuffix(tail, ".")
		return head, ok
	}
	return "", false
}

// cutLine splits "file:line: rest".
func cutLine(s string) (file, rest string, line int, ok bool) {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], ':')
		if i < 0 {
			return "", "", 0, false
		}
		i += from
		digits, after, found := strings.Cut(s[i+1:], ": ")
		if n, err := strconv.ParseUint(digits, 10, 31); found && err == nil {
			return s[:i], after, int(n), true
		}
		from = i + 1
	}
}

// Reason describes the assertion for a report's first line.
func (a *Assertion) Reason() string {
	s := "assertion `" + a.Expression + "' failed"
	if a.Error != "" {
		s = "unexpected error: " + a.Error
	}
	if a.File != "" {
		s += " at " + find.BaseName(a.File)
		if a.Line > 0 {
			s += ":" + strconv.Itoa(a.Line)
		}
	}
	if a.Function != "" {
		s += " in " + a.Function
	}
	return s
}
