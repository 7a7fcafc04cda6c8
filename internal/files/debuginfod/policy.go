package debuginfod

import (
	"fmt"
	"net/url"
	"strings"
)

// Words of DEBUGINFOD_URLS that say what is to become of the signatures (IMA, of
// files in RPM packages) of the servers that follow, up to the next such word.
// Permissive was in drafts only; what elfutils does not know, it leaves out.
const (
	imaPrefix     = "ima:"
	imaIgnore     = imaPrefix + "ignore"     // what holds without a word: none is looked at
	imaPermissive = imaPrefix + "permissive" // a file may have none, but no wrong one
	imaEnforcing  = imaPrefix + "enforcing"  // every file must have a right one
)

// setURLs takes the value of DEBUGINFOD_URLS apart. Signatures are not checked
// here: servers whose files are to be used only when they are signed are left
// out, and it is said.
func (c *Config) setURLs(list string) {
	policy := imaIgnore
	for _, word := range strings.Fields(list) {
		switch {
		case word == imaIgnore, word == imaPermissive, word == imaEnforcing:
			policy = word
		case strings.HasPrefix(word, imaPrefix):
			c.Warnings = append(c.Warnings, fmt.Sprintf("DEBUGINFOD_URLS: %s is not known and changes nothing; %s holds on", word, policy))
		case policy == imaEnforcing:
			c.LeftOut = append(c.LeftOut, redacted(word)+" is not asked: ima:enforcing wants signatures of files checked, which corewalk cannot")
		default:
			if policy == imaPermissive {
				c.Warnings = append(c.Warnings, "DEBUGINFOD_URLS: ima:permissive: signatures of files of "+redacted(word)+" are not checked")
			}
			c.URLs = append(c.URLs, word)
		}
	}
}

// redacted is a URL without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a server" // a password may be anywhere in it
	}
	return u.Redacted()
}
