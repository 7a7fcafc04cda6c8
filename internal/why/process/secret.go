package process

import (
	"regexp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// Masked stands for a secret.
const Masked = "***"

// maxMasked is how many bytes of a text are looked through: what comes behind is hidden altogether.
const maxMasked = 256 << 10

// cutLine is the length from which on a command line may have been cut: that of the kernel's record (elf_prpsinfo).
const cutLine = 79

// maxSecretName bounds the length of names in a text, before what may be their values.
const maxSecretName = 128

// Secret reports whether the value of a variable, option or header is secret by its name.
func Secret(name string) bool {
	if publicNames.Get()[name] {
		return false
	}
	words := nameWords(name)
	if len(words) > 1 && (slices.Contains(publicEnds, words[len(words)-1]) || slices.Contains(publicStarts, words[0])) {
		return false
	}
	joined := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	for _, part := range publicParts {
		if strings.Contains(joined, part) {
			return false
		}
	}
	for _, part := range secretParts {
		if strings.Contains(joined, part) {
			return true
		}
	}
	return slices.ContainsFunc(words, func(w string) bool { return secretWords.Get()[w] })
}

// nameWords cuts a name into its words, in small letters.
func nameWords(name string) []string {
	var out []string
	from := 0
	cut := func(to int) {
		if to > from {
			out = append(out, strings.ToLower(name[from:to]))
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case !letter(c) && !digit(c):
			cut(i)
			from = i + 1
		case i > from && upper(c) && (!upper(name[i-1]) || i+1 < len(name) && letter(name[i+1]) && !upper(name[i+1])):
			cut(i)
			from = i
		}
	}
	cut(len(name))
	return out
}

func upper(c byte) bool    { return c >= 'A' && c <= 'Z' }
func letter(c byte) bool   { return upper(c) || c >= 'a' && c <= 'z' }
func digit(c byte) bool    { return c >= '0' && c <= '9' }
func nameByte(c byte) bool { return letter(c) || digit(c) || c == '_' || c == '-' || c == '.' }
func blank(c byte) bool    { return c == 0 || c == ' ' || c >= '\t' && c <= '\r' }

// Mask returns the value of a variable without its secrets: nothing of one that is secret
// by its name, and of others what is known as a secret by its place or its shape.
func Mask(name, value string) string {
	if value == "" {
		return ""
	}
	if Secret(name) {
		return Masked
	}
	m := newMasker(value, false)
	m.command(m.shellWords(part{0, len(m.text)}), 0, 1)
	return m.hidden(part{0, len(value)})
}

// MaskArguments returns arguments without secrets: the values of options and variables with names of
// secrets, of options of known programs, and what is known by its shape. cut says that more arguments, and the end of the
// last one, are not known.
func MaskArguments(args []string, cut bool) []string {
	if args == nil {
		return nil
	}
	joined := strings.Join(args, "\x00")
	m := newMasker(joined, cut)
	words := make([]part, len(args))
	at := 0
	for i, arg := range args {
		words[i] = part{at, at + len(arg)}
		at += len(arg) + 1
	}
	m.command(words, 1, 0)
	out := make([]string, len(args))
	for i := range args {
		out[i] = m.hidden(words[i])
	}
	return out
}

// MaskLine is MaskArguments for a command line whose arguments are joined by spaces.
func MaskLine(line string) string {
	// Blanks become NUL: where an argument ended is not known.
	b := []byte(line)
	for i, c := range b {
		if blank(c) {
			b[i] = 0
		}
	}
	m := newMasker(string(b), len(line) >= cutLine)
	var words []part
	for i := 0; i < len(b); i++ {
		if b[i] == 0 {
			continue
		}
		from := i
		for i < len(b) && b[i] != 0 {
			i++
		}
		words = append(words, part{from, i})
	}
	m.command(words, 1, maxNested)
	m.text = line
	return m.hidden(part{0, len(line)})
}

// A part of a text is [from, to).
type part struct{ from, to int }

// A masker finds the secrets of a text. Words are joined by NUL. The time is in proportion to the length.
type masker struct {
	text    string
	known   int    // bytes that are looked at
	secrets []part // in no order, until sorted
	sorted  bool
	// runs are the last values without quotes: those that share an end are looked at once.
	runs [len(valueUntil) + 1]valueRun
}

// A valueRun says where the text has the next byte of until.
type valueRun struct {
	until string
	end   int
}

// newMasker finds what is a secret wherever it stands.
func newMasker(text string, cut bool) *masker {
	m := &masker{text: text, known: len(text)}
	if m.known > maxMasked {
		m.known = maxMasked
		for m.known > 0 && !blank(text[m.known-1]) { // no half of a secret
			m.known--
		}
		m.hide(m.known, len(text))
	}
	text = text[:m.known]
	lower := strings.ToLower(text)
	for i := range shapes {
		s := &shapes[i]
		if s.cut && !cut || !hasWord(lower, s.needs) {
			continue
		}
		for _, at := range s.regexp().FindAllStringSubmatchIndex(text, -1) {
			if len(at) == 2 {
				m.hide(at[0], at[1])
			}
			for g := 2; g < len(at); g += 2 {
				m.hide(at[g], at[g+1])
			}
		}
	}
	m.assignments(text)
	return m
}

func hasWord(text, words string) bool {
	for w := range strings.FieldsSeq(words) {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// hide makes [from, to) a secret, unless it only says yes or no.
func (m *masker) hide(from, to int) {
	if from < 0 || from >= to {
		return
	}
	if s := m.text[from:to]; s == "true" || s == "false" {
		return
	}
	m.secrets = append(m.secrets, part{from, to})
}

// hidden returns a part of the text without secrets.
func (m *masker) hidden(p part) string {
	if !m.sorted {
		slices.SortFunc(m.secrets, func(a, b part) int { return a.from - b.from })
		merged := m.secrets[:0]
		for _, s := range m.secrets {
			if n := len(merged); n > 0 && s.from < merged[n-1].to {
				merged[n-1].to = max(merged[n-1].to, s.to)
			} else {
				merged = append(merged, s)
			}
		}
		m.secrets, m.sorted = merged, true
	}
	first, _ := slices.BinarySearchFunc(m.secrets, p.from, func(s part, at int) int {
		if s.to <= at {
			return -1
		}
		return 1
	})
	var b strings.Builder
	at := p.from
	for _, s := range m.secrets[first:] {
		if s.from >= p.to {
			break
		}
		if s.from > at {
			b.WriteString(m.text[at:s.from])
		}
		b.WriteString(Masked)
		at = min(s.to, p.to)
	}
	if at == p.from {
		return m.text[p.from:p.to]
	}
	b.WriteString(m.text[at:p.to])
	return b.String()
}

// assignments hides the values of NAME=VALUE and NAME: VALUE, in the notation of URLs, headers, JSON, YAML and
// connection strings.
func (m *masker) assignments(text string) {
	done := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '=' && c != ':' || i < done {
			continue
		}
		name := i
		spaced := name > 0 && (text[name-1] == ' ' || text[name-1] == 0 && at(text, i+1) == 0)
		if spaced {
			name--
		}
		end := name
		for end > 0 && name-end < 4 && strings.IndexByte(`"'\`, text[end-1]) >= 0 {
			end--
		}
		begin := end
		for begin > 0 && end-begin < maxSecretName && nameByte(text[begin-1]) {
			begin--
		}
		if begin == end || begin > 0 && (text[begin-1] == '/' || c == ':' && text[begin-1] == ':') {
			continue // of a path, or of A:B:C
		}
		from := i + 1
		if c == ':' {
			if end == name && from < len(text) && !blank(text[from]) {
				continue // shapes has those without a space
			}
			crossed := false
			for from < len(text) && blank(text[from]) {
				crossed = crossed || text[from] == 0
				from++
			}
			if crossed && from < len(text) && text[from] == '-' {
				continue // an option follows
			}
		} else if spaced && from < len(text) && blank(text[from]) {
			from++
		}
		if from >= len(text) || !Secret(text[begin:end]) {
			continue
		}
		until := valueUntil
		switch whole := c == ':' && strings.HasSuffix(strings.ToLower(text[begin:end]), "authorization"); {
		case whole && begin > 0 && strings.IndexByte(`"'`, text[begin-1]) >= 0:
			until = text[begin-1 : begin]
		case whole:
			until = ""
		case c == ':':
			until = headerUntil
		}
		done = m.value(text, from, until)
	}
}

// at returns a byte of a text; NUL behind its end.
func at(text string, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// What ends a value besides NUL. Those of headers that may have several words end with the argument, or where the quotes
// around the header do.
const (
	headerUntil = "\"'`| \t\n\v\f\r"
	valueUntil  = headerUntil + ";"
)

// value hides the value that begins at a place, and returns where it ends. until says what ends it.
func (m *masker) value(text string, at int, until string) int {
	quote := at
	for quote < len(text) && quote-at < 3 && text[quote] == '\\' {
		quote++
	}
	if quote < len(text) && (text[quote] == '"' || text[quote] == '\'') {
		from := quote + 1
		to := from
		for escaped := false; to < len(text) && text[to] != 0; to++ {
			if text[to] == text[quote] && !escaped {
				break
			}
			escaped = quote == at && text[to] == '\\' && !escaped
		}
		end := to
		if quote > at && to < len(text) {
			for to > from && text[to-1] == '\\' {
				to--
			}
		}
		m.hide(from+scheme(text[from:to]), to)
		return end
	}
	n := scheme(text[at:])
	at += n
	if n > 0 && len(until) < 2 {
		until = headerUntil
	}
	run := &m.runs[min(len(until), len(m.runs)-1)]
	if run.until != until || run.end < at {
		*run = valueRun{until, at}
		for run.end < len(text) && text[run.end] != 0 && strings.IndexByte(until, text[run.end]) < 0 {
			run.end++
		}
	}
	to := run.end
	if len(until) > 1 {
		to = at + beforeNext(text[at:to])
	}
	for to > at && strings.IndexByte(`)]},;\`, text[to-1]) >= 0 {
		to--
	}
	m.hide(at, to)
	return to // what follows may have secrets of its own
}

// scheme returns the length of the words before a secret in its value.
func scheme(value string) int {
	return len(schemes.Get().FindString(value[:min(len(value), 64)]))
}

// nextValue matches what separates a value from the next NAME=.
var nextValue = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`[,&;\s]+["']?[A-Za-z_][\w.-]*["']?[=:]`)
}}

// beforeNext returns the length of a value without the next ones in the same list.
func beforeNext(value string) int {
	if at := nextValue.Get().FindStringIndex(value); at != nil {
		return at[0]
	}
	return len(value)
}

// maxNested is how deep commands in arguments of commands are looked at: sh -c "sudo sh -c '...'".
const maxNested = 3

// command hides the secrets among the words of a command. Words before first are no options: the program's name.
func (m *masker) command(words []part, first, depth int) {
	var of []*program // the program whose options follow
	start, runner := true, false
	var next *program // the word is the value of a secret option
	said := ""        // the words before, as far as they matter
	for i, w := range words {
		w.to = min(w.to, m.known)
		if w.from >= w.to {
			next = nil
			continue
		}
		word := m.text[w.from:w.to]
		option := i >= first && word[0] == '-' && len(word) > 1
		if next != nil {
			p := next
			next = nil
			if !option {
				m.behind(w, p.after)
				continue
			}
		}
		if separator(word) {
			of, start, runner = nil, true, false
			continue
		}
		if depth < maxNested && strings.ContainsAny(word, " \t\n") {
			m.command(m.shellWords(w), 0, depth+1)
		}
		script := strings.ContainsAny(word, " \t\n") && depth < maxNested && len(said) > 1 && said[0] == '-' && said[len(said)-1] == 'c' // sh -c
		has := i >= first && !script && m.assigned(w)
		if start && !has || runner && !option && !among(naming, said) {
			name := programName(word)
			if list := commandsOf.Get()[name]; list != nil || len(of) > 0 && of[0].runs {
				of = list
			}
			runner = runner || among(runners, name)
			start = false
		}
		for _, p := range of {
			if (p.command == "" || m.before(words[:i], p.command)) && m.optionOf(p, w, word) {
				next = p
			}
		}
		if next == nil && option && isName(word) && Secret(word) {
			next = &program{}
		}
		said = word
	}
}

// isName reports whether a word has nothing but what names have.
func isName(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return r > 0x7f || !nameByte(byte(r)) }) < 0
}

// assigned hides the value of NAME=VALUE, --option=VALUE and --option=NAME=VALUE, and reports whether the word is the first.
func (m *masker) assigned(w part) bool {
	at := w.from
	for {
		value := strings.IndexByte(m.text[at:min(w.to, at+maxSecretName)], '=')
		if value < 0 {
			break
		}
		name := m.text[at : at+value]
		if !isName(name) {
			break
		}
		at += value + 1
		if !Secret(name) || at >= w.to {
			continue
		}
		to := w.to
		if name[0] != '-' && name != strings.ToUpper(name) {
			to = at + beforeNext(m.text[at:to])
		}
		if q := m.text[at]; to-at > 1 && (q == '"' || q == '\'') && m.text[to-1] == q {
			at, to = at+1, to-1
		}
		m.hide(at+scheme(m.text[at:to]), to)
		return name[0] != '-'
	}
	return at > w.from && m.text[w.from] != '-'
}

// optionOf hides the value in a word that is an option of a program, and reports whether the next word is the value.
func (m *masker) optionOf(p *program, w part, word string) bool {
	if p.options == "" {
		name, rest, has := strings.Cut(word, p.after)
		if secret, _, _ := strings.Cut(rest, "@"); has && name != "" && !strings.ContainsAny(name, "-@.=:") && !strings.Contains(secret, p.after) {
			at := w.from + len(name) + len(p.after)
			m.hide(at, at+len(secret))
		}
		return false
	}
	for o := range strings.FieldsSeq(p.options) {
		switch {
		case word == o:
			return !p.attached
		case strings.HasPrefix(o, "--"):
			if strings.HasPrefix(word, o) && word[len(o)] == '=' {
				m.behind(part{w.from + len(o) + 1, w.to}, p.after)
				return false
			}
		case !p.separate && strings.HasPrefix(word, o):
			m.behind(part{w.from + len(o), w.to}, p.after)
			return false
		case p.after == ":" && len(o) == 2 && cluster(word) && word[len(word)-1] == o[1]: // curl -su USER:PASSWORD
			return true
		}
	}
	return false
}

// cluster reports whether a word has several options of one letter.
func cluster(word string) bool {
	return len(word) > 2 && len(word) < 12 && word[0] == '-' && strings.IndexFunc(word[1:], func(r rune) bool { return r > 0x7f || !letter(byte(r)) }) < 0
}

// behind hides what of a value is behind a text; all of it, besides a scheme, if that is "".
func (m *masker) behind(value part, after string) {
	text := m.text[value.from:value.to]
	if after == "" {
		m.hide(value.from+scheme(text), value.to)
	} else if at := strings.Index(text, after); at >= 0 {
		m.hide(value.from+at+len(after), value.to)
	}
}

// before reports whether a word is among the first few words.
func (m *masker) before(words []part, word string) bool {
	for _, w := range words[:min(len(words), 16)] {
		if w.to <= m.known && m.text[w.from:w.to] == word {
			return true
		}
	}
	return false
}

// programName returns the name of the program that a word names.
func programName(word string) string {
	if i := strings.LastIndexAny(word, `/\`); i >= 0 {
		word = word[i+1:]
	}
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// among reports whether a word is one of a list.
func among(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

func separator(word string) bool {
	return len(word) <= 2 && strings.Trim(word, ";&|()`{}\n") == "" || word == "--" || word == "do" || word == "then"
}

// shellWords cuts a part of the text as a shell does, roughly: at blanks and separators, which are words, but not in
// quotes.
func (m *masker) shellWords(p part) []part {
	text := m.text[:min(p.to, m.known)]
	var out []part
	from := -1
	end := func(to int) {
		if from >= 0 {
			if q := text[from]; to-from > 1 && (q == '"' || q == '\'') && text[to-1] == q {
				from, to = from+1, to-1
			}
			out = append(out, part{from, to})
		}
		from = -1
	}
	unpaired := map[byte]bool{}
	for i := p.from; i < len(text); i++ {
		switch c := text[i]; {
		case blank(c):
			end(i)
			if c == '\n' {
				out = append(out, part{i, i + 1})
			}
		case strings.IndexByte(";|&()`", c) >= 0:
			end(i)
			out = append(out, part{i, i + 1})
		case c == '"' || c == '\'':
			if from < 0 {
				from = i
			}
			if unpaired[c] {
				continue
			}
			if n := strings.IndexByte(text[i+1:], c); n >= 0 {
				i += n + 1
			} else {
				unpaired[c] = true
			}
		case from < 0:
			from = i
		}
	}
	end(len(text))
	return out
}
