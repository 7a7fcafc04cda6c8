package report

import "time"

// Schema identifies the schema of a report's JSON. The number changes only if a key has to be renamed or
// removed.
const Schema = "corewalk/1"

// A Report is the result of analysing one dump or one live process.
type Report struct {
	// Schema is the constant Schema. WriteJSON writes the constant whatever this field holds.
	Schema string `json:"schema"`
	Dump   Dump   `json:"dump"`
	// Crash is nil if nothing says that the process died: a dump of a healthy process, or a live process.
	Crash *Crash `json:"crash"`
	// Process is nil if nothing is known.
	Process *Process `json:"process,omitempty"`
	Modules []Module `json:"modules"`
	// MissingFile is the file that would help most, of those that were not found and have frames; nil if there is none.
	MissingFile *MissingFile `json:"wanted,omitempty"`
	Threads     []Thread     `json:"threads"`
	// Tasks are what the program schedules itself, such as goroutines, and the threads of which is known what they
	// wait for; Deadlocks those that wait for each other; Contended what several tasks wait for, the most wanted
	// first.
	Tasks     []Task      `json:"tasks,omitempty"`
	Deadlocks []Deadlock  `json:"deadlocks,omitempty"`
	Contended []Contended `json:"contended,omitempty"`
	// Memory is what lies around the bad address, the registers' values and the stack pointer of the crashed
	// thread. It is nil if it was not requested.
	Memory []MemoryArea `json:"memory,omitempty"`
	// Details is set only if requested.
	Details  *Details  `json:"details,omitempty"`
	Warnings []Warning `json:"warnings"`
}

// The values of Dump.Format.
const (
	FormatELFCore  = "elf-core"
	FormatMinidump = "minidump"
	FormatLive     = "live"
)

// A Dump describes what was analysed.
type Dump struct {
	Path string `json:"path"` // as the user gave it; empty for a live process
	// PathBytes is the path's exact bytes in base64, if they are not UTF-8.
	PathBytes string `json:"path_bytes,omitempty"`
	// From says where in the file the dump was, "core.42 in a tar archive", if the file is an archive or an
	// apport report.
	From   string `json:"from,omitempty"`
	Format string `json:"format"` // FormatELFCore, FormatMinidump or FormatLive
	Arch   string `json:"arch"`   // "x86-64"
	OS     string `json:"os"`     // "linux", "windows", ...
	PID    int    `json:"pid"`    // 0 when not known
	// Command is the program's short name, "queue". CommandLine is the command line, as far as the dump
	// has it, with secrets masked (Process.Arguments has its words).
	Command     string `json:"command"`
	CommandLine string `json:"command_line,omitempty"`
	// Time is when the process was dumped, in the time zone to print; zero if not known.
	Time time.Time `json:"time,omitzero"`
	// TimeOfFile says that Time is the modification time of the dump's file, because the dump itself has no
	// time (ELF cores have none). A copied file may have a later time.
	TimeOfFile bool `json:"time_of_file,omitempty"`
	// Truncated says that the dump's file is shorter than its headers say. Size is the length of the file and
	// FullSize the expected length, in bytes; 0 if not known.
	Truncated bool   `json:"truncated"`
	Size      uint64 `json:"size,omitempty"`
	FullSize  uint64 `json:"full_size,omitempty"`
	// Threads is the number of threads of the process if the report does not have them all, else 0.
	Threads int `json:"threads,omitempty"`
}

// The values of Module.Status.
const (
	ModuleMatched    = "matched"    // a file with the process's build-id or debug-id was found
	ModuleMismatched = "mismatched" // the file found is from a different build
	ModuleMissing    = "missing"    // no file was found
	ModuleNoID       = "no-id"      // the dump does not say which build the process used
)

// The values of Module.Symbols, best first.
const (
	SymbolsDWARF    = "dwarf"
	SymbolsPDB      = "pdb"
	SymbolsBreakpad = "breakpad"
	SymbolsGo       = "gopclntab" // the pc-line table of Go programs, which stripping leaves
	SymbolsSymtab   = "symtab"
	SymbolsExports  = "exports"
	SymbolsNone     = "none"
)

// A Module is an executable, a library or another image mapped in the process.
type Module struct {
	Path string `json:"path"` // path in the process
	// PathBytes is the path's exact bytes in base64, if they are not UTF-8.
	PathBytes string `json:"path_bytes,omitempty"`
	Base      Addr   `json:"base"` // lowest address mapped
	End       Addr   `json:"end"`  // first address past it
	// BuildID (ELF) or DebugID (PE, Mach-O; in Breakpad's form: GUID and age) identifies the build that the
	// process used, in hexadecimal. At most one is set.
	BuildID string `json:"build_id,omitempty"`
	DebugID string `json:"debug_id,omitempty"`
	// GoBuildID is what Go's linker calls the build, if there is no BuildID.
	GoBuildID string `json:"go_build_id,omitempty"`
	// CodeID identifies the file itself if BuildID does not: time stamp and size in memory for PE, the UUID for
	// Mach-O. DebugName is the name that the debug file had when it was made ("a.pdb"). Version is the file's
	// version.
	CodeID    string `json:"code_id,omitempty"`
	DebugName string `json:"debug_name,omitempty"`
	Version   string `json:"version,omitempty"`
	// Listed is what a minidump's own list of modules says; nil for other dumps.
	Listed *ListedModule `json:"listed,omitempty"`
	// File is the file found, DebugFile the separate debug file; empty if there is none. FileBytes and DebugFileBytes
	// are their exact bytes in base64, if they are not UTF-8.
	File           string `json:"file,omitempty"`
	FileBytes      string `json:"file_bytes,omitempty"`
	DebugFile      string `json:"debug_file,omitempty"`
	DebugFileBytes string `json:"debug_file_bytes,omitempty"`
	Status         string `json:"status"`         // one of the Module constants
	Symbols        string `json:"symbols"`        // one of the Symbols constants
	Main           bool   `json:"main,omitempty"` // the main executable
}

// A MissingFile is that of a module which has frames. It was not found, or only from another build.
type MissingFile struct {
	Path      string `json:"path"`                 // in the process
	PathBytes string `json:"path_bytes,omitempty"` // as in Module
	// BuildID, DebugID and CodeID are those of Module.
	BuildID string `json:"build_id,omitempty"`
	DebugID string `json:"debug_id,omitempty"`
	CodeID  string `json:"code_id,omitempty"`
	// Crashed is how many frames of the crashed thread lie in it, Frames of all threads. Of is how many modules
	// with frames lack their files.
	Crashed int    `json:"crashed"`
	Frames  int    `json:"frames"`
	Of      int    `json:"of"`
	Advice  string `json:"advice"` // how to give it to corewalk
}

// A ListedModule is an entry of a minidump's list of modules.
type ListedModule struct {
	Number int    `json:"number"` // place in the list, from 1: the program is usually the first
	Name   string `json:"name"`   // path, or only a name
	Size   uint64 `json:"size"`   // bytes from Base on; of Linux libraries it may be less than is mapped
}

// A Warning is something that the analysis lacked or could not do.
type Warning struct {
	Code    string `json:"code"`    // stable, for programs: "module-mismatched"
	Message string `json:"message"` // what is wrong, for people
	// Module is the path of the module it concerns; empty if it concerns none.
	Module string `json:"module,omitempty"`
	// Advice says what to do about it, in a sentence of its own; empty if there is nothing to do.
	Advice string `json:"advice,omitempty"`
}
