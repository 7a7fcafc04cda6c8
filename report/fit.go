package report

import "strings"

// hanging is how much further than its first line the others of a broken line are indented, in columns.
const hanging = 4

// fit writes the runs of a line. If they are wider than the width, it breaks the line between words and shortens
// words that are wider than a line.
func (l *lineWriter) fit() {
	defer func() { l.runs = l.runs[:0] }()
	if l.col-l.space <= l.width {
		for _, r := range l.runs {
			l.write(r)
		}
		return
	}
	indent := min(l.runs[0].space+hanging, l.width/2)
	words := l.words(l.width - indent)
	col := 0
	for i, r := range words {
		need := r.space + width(r.text)
		if preposition(r.text) && i+1 < len(words) {
			need += words[i+1].space + width(words[i+1].text)
		}
		if i > 0 && col+need > l.width {
			l.w.WriteByte('\n')
			r.space, col = indent, 0
		}
		l.write(r)
		col += r.space + width(r.text)
	}
}

// words returns the words of the line, none wider than limit if it can be shortened.
func (l *lineWriter) words(limit int) []run {
	var list []run
	for _, r := range l.runs {
		space := r.space
		for part := range strings.SplitSeq(r.text, " ") {
			if part == "" {
				space++
				continue
			}
			room := limit
			if n := len(list); n > 0 && preposition(list[n-1].text) {
				room -= width(list[n-1].text) + space
			}
			list = append(list, run{space, r.st, shorten(part, room)})
			space = 1
		}
	}
	return list
}

// preposition reports whether a word should be on one line with the next.
func preposition(word string) bool { return word == "at" || word == "in" || word == "=" }

// shorten shortens a word to some columns in its middle. A path keeps its end, which tells what it is; a place to
// copy or a number keeps all.
func shorten(word string, limit int) string {
	if width(word) <= limit || entire(word) {
		return word
	}
	if at := strings.LastIndexAny(word, `/\`); at >= 0 && width(word[at:]) < limit {
		if lead := limit - 1 - width(word[at:]); lead > 0 {
			return word[:runeOffset(word, lead)] + "…" + word[at:]
		}
		return "…" + word[at:]
	}
	return cut(word, limit)
}

// maxHash is how many digits a build-id has.
const maxHash = 40

// entire reports whether a word is of no use in part: a URL, an address or a build-id.
func entire(word string) bool {
	word = strings.Trim(word, `.,;:()[]"'`)
	return strings.Contains(word, "://") || len(word) <= maxHash && strings.Trim(word, "0123456789abcdefABCDEFx-") == ""
}
