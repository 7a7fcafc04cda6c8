package subject

import "testing"

// TestOfTitle: names that gdb takes from the title of a daemon are no names of programs.
func TestOfTitle(t *testing.T) {
	for _, c := range []struct {
		name, title string
		want        bool
	}{
		{"nginx.conf", "nginx: master process nginx -c /etc/nginx/nginx.conf", true},
		{"nginx: worker pr", "nginx: worker process", true},
		{"sshd: root@notty", "sshd: root@notty", true},
		{"nginx", "nginx: worker process", false}, // what the kernel calls it
		{"nginx", "/usr/sbin/nginx -c /etc/nginx.conf", false},
		{"nginx.conf", "/usr/sbin/nginx.conf", false},
		{"MainThread", "node server.js", false},
		{"Web Content", "/usr/lib/firefox/firefox -contentproc 1 tab", false},
		{"", "nginx: worker process", false},
		{"prog", "", false},
	} {
		if got := ofTitle(c.name, c.title); got != c.want {
			t.Errorf("%q of %q: %v", c.name, c.title, got)
		}
	}
}

// TestStartedAs: the name of the file counts where the program was started by it, and not by that of a script.
func TestStartedAs(t *testing.T) {
	for _, c := range []struct {
		exe, command string
		want         bool
	}{
		{"node", "/usr/bin/node server.js", true},
		{"node", "node", true},
		{"tool", "/bin/sh /usr/bin/tool", false},
		{"nginx", "nginx: worker process", false},
		{"tool", "", false},
	} {
		if got := startedAs(c.exe, c.command); got != c.want {
			t.Errorf("%q of %q: %v", c.exe, c.command, got)
		}
	}
}
