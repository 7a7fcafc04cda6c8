package settings

import (
	"fmt"
	"net/url"
	"strings"
)

// Words in DEBUGINFOD_URLS that set the policy on signatures (IMA signatures of files in
// RPM packages) for the servers that follow, up to the next such word. "permissive" existed
// in drafts only; elfutils ignores words that it does not know.
const (
	imaPrefix     = "ima:"
	imaIgnore     = imaPrefix + "ignore"     // the default: do not check signatures
	imaPermissive = imaPrefix + "permissive" // a file may be unsigned, but not wrongly signed
	imaEnforcing  = imaPrefix + "enforcing"  // every file must be correctly signed
)

// setURLs parses the value of DEBUGINFOD_URLS. Signatures cannot be checked here, so
// servers whose policy requires them are left out, with a message.
func (c *Config) setURLs(list string) {
	policy := imaIgnore
	for _, word := range strings.Fields(list) {
		switch {
		case word == imaIgnore, word == imaPermissive, word == imaEnforcing:
			policy = word
		case strings.HasPrefix(word, imaPrefix):
			c.Warnings = append(c.Warnings, fmt.Sprintf("DEBUGINFOD_URLS: %s is unknown and ignored; %s remains in effect", word, policy))
		case policy == imaEnforcing:
			c.LeftOut = append(c.LeftOut, redacted(word)+" is not used: ima:enforcing requires signature checks, which corewalk does not support")
		default:
			if policy == imaPermissive {
				c.Warnings = append(c.Warnings, "DEBUGINFOD_URLS: ima:permissive: signatures of files of "+redacted(word)+" are not checked")
			}
			c.URLs = append(c.URLs, word)
		}
	}
}

// redacted returns a URL without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a server" // the password could be anywhere in it
	}
	return u.Redacted()
}
