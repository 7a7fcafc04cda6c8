package process

import (
	"regexp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// Masked stands for a secret.
const Masked = "***"

// secretWords are parts of the names of variables and options whose values are secrets. A
// name is cut into words at what is neither a letter nor a digit; long words count
// anywhere in a name ("PGPASSWORD"), short ones only as a word of their own.
var (
	secretParts = []string{"passw", "passphrase", "secret", "token", "credential", "apikey", "accesskey", "privatekey", "signingkey", "cookie", "signature", "bearer", "oauth"}
	secretWords = lazy.Value[map[string]bool]{Make: func() map[string]bool {
		return map[string]bool{"key": true, "keys": true, "pass": true, "pwd": true, "pw": true, "auth": true, "authorization": true, "pin": true, "salt": true,
			"session": true, "jwt": true, "sas": true, "dsn": true, "creds": true}
	}}
)

// publicNames are names that have such a word and are no secrets.
var publicNames = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{"PWD": true, "SSH_AUTH_SOCK": true, "XDG_SESSION_ID": true, "XDG_SESSION_TYPE": true,
		"XDG_SESSION_CLASS": true, "DESKTOP_SESSION": true, "SESSION_MANAGER": true, "DBUS_SESSION_BUS_ADDRESS": true}
}}

// Secret reports whether the value of a variable or option is secret by its name.
func Secret(name string) bool {
	if publicNames.Get()[name] {
		return false
	}
	lower := strings.ToLower(name)
	for _, place := range []string{"file", "dir", "path"} { // where the secret is
		if strings.HasSuffix(lower, "_"+place) || strings.HasSuffix(lower, "-"+place) {
			return false
		}
	}
	joined := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, lower)
	for _, part := range secretParts {
		if strings.Contains(joined, part) {
			return true
		}
	}
	for word := range strings.FieldsFuncSeq(lower, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if secretWords.Get()[word] {
			return true
		}
	}
	return false
}

// userInfo matches the password in a URL: scheme://user:password@host.
var userInfo = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*:)[^/\s@]+@`)
}}

// Mask returns the value of a variable without its secrets: nothing of one that is secret
// by its name, and no password of a URL in another.
func Mask(name, value string) string {
	if value != "" && Secret(name) {
		return Masked
	}
	if !strings.Contains(value, "://") {
		return value
	}
	return userInfo.Get().ReplaceAllString(value, "${1}"+Masked+"@")
}

// MaskArguments returns arguments without secrets: the values of options with names of
// secrets, behind a = or in the next argument, and passwords of URLs.
func MaskArguments(args []string) []string {
	out := make([]string, len(args))
	next := false // the argument is the value of a secret option
	for i, arg := range args {
		name, value, has := strings.Cut(arg, "=")
		option := i > 0 && strings.HasPrefix(arg, "-")
		switch {
		case next && !option:
			out[i], next = Masked, false
			continue
		case has && i > 0:
			out[i] = name + "=" + Mask(name, value)
		default:
			out[i] = Mask("", arg)
		}
		next = option && !has && Secret(name)
	}
	return out
}

// MaskLine is MaskArguments for a command line whose arguments are joined by spaces.
func MaskLine(line string) string {
	args := strings.Fields(line)
	masked := MaskArguments(args)
	if slices.Equal(args, masked) {
		return line
	}
	return strings.Join(masked, " ")
}
