package mcp

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/report"
)

// MaxAnswer is how many bytes an answer has at most, as it is sent.
const MaxAnswer = 8 << 10

// maxText is what is left of that for the text, in JSON: the rest is the protocol's.
const maxText = MaxAnswer - 384

// An answerOf is what a tool answers.
type answerOf struct {
	head  string   // what corewalk says: one line or a few
	lines []string // what was read from a dump
	from  int      // number of the first of lines
	more  bool     // others follow that are not in lines
	next  string   // how to ask for the lines that follow: "from"; "" if nothing can be asked
	tail  string   // what corewalk says last
}

type answer = answerOf

// size is how many bytes a text takes in JSON.
func size(s string) int {
	b, err := report.JSON(s, "")
	if err != nil {
		return len(s) * 6
	}
	return len(b) - 2
}

// mark returns what marks data: it is not to be guessed, and so not to be imitated.
func mark() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// text lays an answer out within maxText bytes: as many lines as fit. A line that is too long by itself is cut.
func (a *answerOf) text() string {
	if len(a.lines) == 0 {
		return cut(strings.TrimSpace(a.head+"\n"+a.tail), maxText)
	}
	id := mark()
	begin, end := "--- data "+id+"\n", "--- end "+id+"\n"
	head := cut(a.head, maxText/4)
	if head != "" {
		head += "\n"
	}
	tail := cut(a.tail, maxText/8)
	room := maxText - size(head+begin+end+tail) - 128 // what says that there is more
	var b strings.Builder
	shown := 0
	for _, line := range a.lines {
		n := size(line + "\n")
		if n > room && shown == 0 {
			line = cut(line, room-2)
			n = room
		}
		if n > room {
			break
		}
		room -= n
		b.WriteString(line + "\n")
		shown++
	}
	out := head + begin + b.String() + end
	if shown < len(a.lines) || a.more {
		switch at := a.from + shown; {
		case a.next != "":
			out += fmt.Sprintf("more: ask again with %s = %d\n", a.next, at)
		default:
			out += "more follows, but is left out\n"
		}
	}
	return strings.TrimSuffix(out+tail, "\n")
}

// cut shortens a text to n bytes of JSON.
func cut(s string, n int) string {
	if size(s) <= n {
		return s
	}
	const end = "... (cut)"
	for size(s) > n-len(end) && s != "" {
		keep := min(len(s)-1, len(s)*max(n-len(end), 0)/size(s))
		for keep > 0 && !utf8.RuneStart(s[keep]) {
			keep--
		}
		s = s[:keep]
	}
	return s + end
}
