package minidump

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// A logEntry is one message of an Android log.
type logEntry struct {
	pid  uint32 // 0 where the format does not have it
	tag  string // "" likewise
	text string
}

// A logFormat is how logcat prints an entry (logcat -v FORMAT).
type logFormat struct {
	name  string
	match *regexp.Regexp // with groups pid, tag and text
	// head says that it matches a line of its own, before the lines of the text.
	head bool
}

const (
	logTime  = `(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d\.\d+(?: [+-]\d{4})?`
	logLevel = `[VDIWEFA]`
)

// logFormats lists the formats, the more particular first.
var logFormats = lazy.Value[[]logFormat]{Make: func() []logFormat {
	return []logFormat{
		{name: "threadtime", match: regexp.MustCompile(`^` + logTime + ` +(?:\w+ +)?(?P<pid>\d+) +\d+ ` + logLevel + ` (?P<tag>.*?) *: ?(?P<text>.*)$`)},
		{name: "brief or time", match: regexp.MustCompile(`^(?:` + logTime + ` +)?` + logLevel + `/(?P<tag>.*?) *\( *(?P<pid>\d+)\): ?(?P<text>.*)$`)},
		{name: "thread", match: regexp.MustCompile(`^` + logLevel + `\( *(?P<pid>\d+): *\d+\) ?(?P<text>.*)$`)},
		{name: "process", match: regexp.MustCompile(`^` + logLevel + `\( *(?P<pid>\d+)\) ?(?P<text>.*?)(?: +\((?P<tag>[^()]*)\))?$`)},
		{name: "tag", match: regexp.MustCompile(`^` + logLevel + `/(?P<tag>[^:]*?) *: ?(?P<text>.*)$`)},
		{name: "long", match: regexp.MustCompile(`^\[ ` + logTime + ` +(?:\w+ *: *)?(?P<pid>\d+): *\d+ ` + logLevel + `/(?P<tag>.*?) *\]$`), head: true},
	}
}}

// entry returns the parts of a line in this format.
func (f *logFormat) entry(line string) (e logEntry, ok bool) {
	m := f.match.FindStringSubmatch(line)
	if m == nil {
		return e, false
	}
	for i, name := range f.match.SubexpNames() {
		switch name {
		case "pid":
			n, _ := strconv.ParseUint(m[i], 10, 32)
			e.pid = uint32(n)
		case "tag":
			e.tag = m[i]
		case "text":
			e.text = m[i]
		}
	}
	return e, true
}

// formatOf recognises the format of the line that has the first marker of a microdump.
// before is the line before it, which has the head in the long format. The format is nil
// for a log of another kind, and for the messages alone.
func formatOf(line, before string) (*logFormat, logEntry) {
	formats := logFormats.Get()
	for i := range formats {
		f := &formats[i]
		if f.head {
			if e, ok := f.entry(before); ok {
				return f, e
			}
		} else if e, ok := f.entry(line); ok && strings.HasPrefix(e.text, microBegin) {
			return f, e
		}
	}
	return nil, logEntry{}
}

// texts calls yield with the messages in lines that come from where first came from. Others
// stand between them when several processes write to the log.
func (f *logFormat) texts(lines []string, first logEntry, yield func(string)) {
	same := true // in the long format: as the last head
	for _, line := range lines {
		e, ok := f.entry(line)
		switch {
		case f.head && ok:
			same = e.pid == first.pid && e.tag == first.tag
		case f.head:
			if same && line != "" {
				yield(line)
			}
		case !ok:
			yield(line) // a line without a prefix: whoever reads it counts what it does not know
		case e.pid == first.pid && (e.tag == first.tag || e.tag == "" || first.tag == ""):
			yield(e.text)
		}
	}
}
