package analysis

import "strings"

// A distribution says how to get the debug files of its packages.
type distribution struct{ id, server, packages string }

// distributions are found by ID and ID_LIKE of os-release(5). Those without a server have packages only.
var distributions = [...]distribution{
	{"ubuntu", "https://debuginfod.ubuntu.com", "the packages' -dbgsym"},
	{"debian", "https://debuginfod.debian.net", "the packages' -dbgsym"},
	{"fedora", "https://debuginfod.fedoraproject.org", "the packages' -debuginfo (dnf debuginfo-install)"},
	{"centos", "https://debuginfod.centos.org", "the packages' -debuginfo (dnf debuginfo-install)"},
	{"rhel", "", "the packages' -debuginfo (dnf debuginfo-install)"},
	{"opensuse", "https://debuginfod.opensuse.org", "the packages' -debuginfo"},
	{"suse", "", "the packages' -debuginfo"},
	{"arch", "https://debuginfod.archlinux.org", ""},
	{"alpine", "", "the packages' -dbg"},
}

// distributionOf returns the distribution that a file os-release(5) is of; nil if it is not known.
func distributionOf(release []byte) *distribution {
	var ids []string
	for line := range strings.Lines(string(release)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID": // before those that it is like
			ids = append([]string{value}, ids...)
		case "ID_LIKE":
			ids = append(ids, strings.Fields(value)...)
		}
	}
	for _, id := range ids {
		for i := range distributions {
			if d := &distributions[i]; id == d.id || strings.HasPrefix(id, d.id+"-") { // opensuse-leap
				return d
			}
		}
	}
	return nil
}

// advice says how to get debug files of packages.
func (d *distribution) advice() string {
	switch {
	case d == nil:
		return "Fetch the debug files with --debuginfod, or install the -dbgsym or -debuginfo packages"
	case d.server == "":
		return "Install " + d.packages
	case d.packages == "":
		return "Fetch the debug files with --debuginfod=" + d.server
	}
	return "Fetch the debug files with --debuginfod=" + d.server + ", or install " + d.packages
}
