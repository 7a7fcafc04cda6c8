package subject

import (
	"path"
	"strings"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/why/message"
)

// messageKeys are the annotations in which programs tell Crashpad why they end themselves: Android's C library,
// Chromium's logging, V8 in Electron.
var messageKeys = []string{"abort_message", "LOG_FATAL", "electron.v8-fatal.message", "v8_fatal_message"}

// Kinds of assertions that Breakpad's writer distinguishes.
const (
	invalidParameter = 1
	pureVirtualCall  = 2
)

// Words returns the failed assertion that the dump's writer was told of, and the message that it recorded.
func (m minidumpSubject) Words() (assertion, text message.Words) {
	return assertionWords(minidump.Of(m).Assertion), recordedWords(minidump.Of(m))
}

// assertionWords describes the failed assertion, or the like, that a handler of the C library passed to the
// dump's writer.
func assertionWords(a *minidump.Assertion) message.Words {
	if a == nil {
		return message.Words{}
	}
	w := message.Words{Message: a.Expression, Source: "the AssertionInfo stream", Cause: message.FailedAssertion,
		Assertion: &message.Assertion{Expression: a.Expression, File: a.File, Function: a.Function, Line: int(min(a.Line, 1<<30))}}
	switch {
	case a.Type == pureVirtualCall:
		return message.Words{Reason: "call to a pure virtual function", Source: w.Source, Cause: message.InvalidArgument}
	case a.Expression == "":
		return message.Words{}
	case a.Type == invalidParameter:
		w.Cause = message.InvalidArgument
	}
	w.Reason = w.Assertion.Reason()
	return w
}

// recordedWords returns the message that the writer of a minidump recorded.
func recordedWords(f *minidump.File) message.Words {
	if w := macWords(&f.Mac); w.Message != "" {
		return w
	}
	if f.Crashpad == nil {
		return message.Words{}
	}
	for _, key := range messageKeys {
		if s, ok := f.Crashpad.Annotation(key); ok && strings.TrimSpace(s) != "" {
			return message.Words{Message: strings.TrimSpace(s), Source: "the annotation " + key}
		}
	}
	return message.Words{}
}

// macWords returns the first message that a macOS library left in its section __crash_info.
func macWords(m *minidump.Mac) message.Words {
	for i := range m.CrashInfo {
		c := &m.CrashInfo[i]
		for _, s := range []string{c.Message, c.More2} {
			if s = strings.TrimSpace(s); s != "" {
				return message.Words{Message: s, Source: "__crash_info of " + path.Base(c.ModulePath)}
			}
		}
	}
	return message.Words{}
}
