package report

import "strconv"

// languageNames are the languages' own names.
func languageName(language string) string {
	switch language {
	case "ada":
		return "Ada"
	case "lua":
		return "Lua"
	case "perl":
		return "Perl"
	case "php":
		return "PHP"
	case "ruby":
		return "Ruby"
	case "python":
		return "Python"
	case "java":
		return "Java"
	case "javascript":
		return "JavaScript"
	}
	return brief(language, 16)
}

// raised writes the exceptions of a language: the one that was raised, then what it came of.
func (t *textWriter) raised(list []Raised) {
	for i := range list {
		r := &list[i]
		head := languageName(r.Language) + ": "
		switch {
		case r.Relation == "cause":
			head = "caused by "
		case r.Relation != "":
			head = "while handling "
		case r.Handled:
			head += "handling "
		}
		text := brief(r.Type, maxName)
		if r.File != "" {
			text += " in " + t.sourcePath(r.File)
			if r.Line > 0 {
				text += ":" + strconv.Itoa(r.Line)
			}
		}
		if r.Message != "" {
			text += ": " + brief(r.Message, maxWords)
		}
		if r.Details != "" {
			text += " " + brief(r.Details, maxWords)
		}
		if r.Relation != "" {
			t.put(plain, "  ")
		}
		t.put(plain, "  "+head)
		t.wrap(plain, 4, text)
	}
}
