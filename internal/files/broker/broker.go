// Package broker fetches files for a process that has no network. The process asks with a Client, which is a
// modules.Fetcher; a Server in another process checks what it is asked for, and asks the real fetchers.
//
// Requests name files by build-ids and other identifiers, never by a path of this machine or a URL: a process that a
// hostile dump has taken over can make the servers be asked for files, and nothing else.
//
// Paths travel as bytes (in base64), because JSON has no way to write what is not UTF-8.
package broker

import (
	"github.com/corewalk/corewalk/modules"
)

// A Request asks for one file.
type Request struct {
	N int `json:"n"` // identifies the answer

	BuildID string `json:"build_id,omitempty"` // in hexadecimal
	Kind    string `json:"kind,omitempty"`     // what file with this build-id; kindSource for a source file
	Source  []byte `json:"source,omitempty"`   // path of the source file in the debug information

	Symbols []modules.StoreKey `json:"symbols,omitempty"` // instead: files of symbol stores, of which one is enough
}

// kindSource is the kind of source files.
const kindSource = "source"

// An Answer is the answer to the Request with the same N.
type Answer struct {
	N    int    `json:"n"`
	Path []byte `json:"path,omitempty"`
	// Error is for users; "" if there is a path.
	Error    string `json:"error,omitempty"`
	NotExist bool   `json:"not_exist,omitempty"` // there is no such file
	// Unreachable is that of find.FetchError.
	Unreachable []string `json:"unreachable,omitempty"`
	// Interrupted, in an answer to no request, says that the user has interrupted the work.
	Interrupted bool `json:"interrupted,omitempty"`
}
