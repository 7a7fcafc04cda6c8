package report

import "time"

// A Process is what is known of how the process was started, and where. What looks like a secret in its arguments and
// variables, by its name, its place or its shape, is masked ("***") unless asked for.
type Process struct {
	Executable string   `json:"executable,omitempty"` // path in the process's machine
	Arguments  []string `json:"arguments,omitempty"`  // of the command line, the program's name first
	// ArgumentsCut says that only the start of the command line is known.
	ArgumentsCut bool `json:"arguments_cut,omitempty"`
	// ArgumentsJoined says that the command line is known as one text, of which Arguments are the words: one argument may have had several.
	ArgumentsJoined bool `json:"arguments_joined,omitempty"`
	Parent          int  `json:"parent,omitempty"` // the parent's process identifier; 0 if not known
	// UID and GID are the real user and group; nil if not known.
	UID  *int   `json:"uid,omitempty"`
	GID  *int   `json:"gid,omitempty"`
	Host string `json:"host,omitempty"` // the machine's or the container's name
	// Container is the kind of container: "docker", "kubernetes"; empty for none, or if not known.
	Container string `json:"container,omitempty"`
	// Started is when the process was started; zero if not known. The dump's time is Dump.Time.
	Started time.Time `json:"started,omitzero"`
	// Environment is nil unless it was requested.
	Environment []EnvironmentVariable `json:"environment,omitempty"`
}

// An EnvironmentVariable is a variable of the environment that the process was started with.
type EnvironmentVariable struct {
	Name   string `json:"name"`             // without the =
	Value  string `json:"value"`            // as it was, unless Masked
	Masked bool   `json:"masked,omitempty"` // the value is, or has, a secret
}
