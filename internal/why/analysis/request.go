package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/internal/why/process"
	"github.com/corewalk/corewalk/tasks"
)

// requestNote says which request a thread serves, without its secrets: of what is behind the question mark, the values whose names or shapes tell.
func requestNote(q tasks.Request) string {
	path, query, asked := strings.Cut(q.URI, "?")
	note := "serves " + q.Method + " " + process.Mask("", path)
	if asked {
		list := strings.Split(query, "&")
		for i, one := range list {
			if name, value, ok := strings.Cut(one, "="); ok {
				list[i] = name + "=" + process.Mask(name, value)
			}
		}
		note += "?" + strings.Join(list, "&")
	}
	if q.Script != "" {
		note += " by " + q.Script
	}
	return note
}
