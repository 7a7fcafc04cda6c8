package report

import "time"

// Schema names the shape of a report's JSON. The number changes only if a key
// ever had to be renamed or removed.
const Schema = "corewalk/1"

// A Report is what an analysis of one dump, or of one live process, found.
type Report struct {
	// Schema is the constant Schema; WriteJSON writes that whatever is here.
	Schema string `json:"schema"`
	Dump   Dump   `json:"dump"`
	// Crash is nil when nothing says that the process died of something: a dump
	// made of a healthy process, or a live one.
	Crash   *Crash   `json:"crash"`
	Modules []Module `json:"modules"`
	Threads []Thread `json:"threads"`
	// Details are there when they were asked for.
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
	Path   string `json:"path"`   // as the user gave it; empty for a live process
	Format string `json:"format"` // FormatELFCore, FormatMinidump or FormatLive
	Arch   string `json:"arch"`   // "x86-64"
	OS     string `json:"os"`     // "linux", "windows", ...
	PID    int    `json:"pid"`    // 0 when not known
	// Command is the program's short name, "queue"; CommandLine what it was
	// started with, as far as the dump has it.
	Command     string `json:"command"`
	CommandLine string `json:"command_line,omitempty"`
	// Time is when the process was dumped, in the time zone to print; zero when
	// not known.
	Time time.Time `json:"time,omitzero"`
	// TimeOfFile says that Time is when the dump's file was last written, because
	// the dump itself does not tell (ELF cores do not): a copy may be younger.
	TimeOfFile bool `json:"time_of_file,omitempty"`
	// Truncated says that the dump's file is shorter than its headers promise.
	// Size is the file's length in bytes and FullSize the length promised; 0 when
	// not known.
	Truncated bool   `json:"truncated"`
	Size      uint64 `json:"size,omitempty"`
	FullSize  uint64 `json:"full_size,omitempty"`
	// Threads is how many threads the process had, where the report does not have
	// them all; else 0.
	Threads int `json:"threads,omitempty"`
}

// The values of Module.Status.
const (
	ModuleMatched    = "matched"    // a file with the process's own build-id or debug-id was found
	ModuleMismatched = "mismatched" // a file was found that is another build
	ModuleMissing    = "missing"    // no file was found
	ModuleNoID       = "no-id"      // the dump does not say which build the process had
)

// The values of Module.Symbols, from best to none.
const (
	SymbolsDWARF    = "dwarf"
	SymbolsPDB      = "pdb"
	SymbolsBreakpad = "breakpad"
	SymbolsSymtab   = "symtab"
	SymbolsExports  = "exports"
	SymbolsNone     = "none"
)

// A Module is an executable, a library or another image mapped in the process.
type Module struct {
	Path string `json:"path"` // as the process had it
	Base Addr   `json:"base"` // lowest address mapped
	End  Addr   `json:"end"`  // first address past it
	// BuildID (ELF) and DebugID (PE, Mach-O; in Breakpad's form: GUID and age) are the
	// identity the process had, in hexadecimal; at most one is set.
	BuildID string `json:"build_id,omitempty"`
	DebugID string `json:"debug_id,omitempty"`
	// CodeID identifies the file itself where that is not BuildID: of PE its time stamp
	// and size in memory, of Mach-O the UUID. DebugName is the name that its debug file
	// had when it was made ("a.pdb"), and Version the file's.
	CodeID    string `json:"code_id,omitempty"`
	DebugName string `json:"debug_name,omitempty"`
	Version   string `json:"version,omitempty"`
	// File is the file found for it, DebugFile the separate debug file; empty
	// when there is none.
	File      string `json:"file,omitempty"`
	DebugFile string `json:"debug_file,omitempty"`
	Status    string `json:"status"`         // one of the Module constants
	Symbols   string `json:"symbols"`        // one of the Symbols constants
	Main      bool   `json:"main,omitempty"` // the program itself
}

// A Warning is something that the analysis lacked or could not do.
type Warning struct {
	Code    string `json:"code"`    // stable, for programs: "module-mismatched"
	Message string `json:"message"` // what is so, for people
	// Module is the path of the module it is about; empty when it is about none.
	Module string `json:"module,omitempty"`
	// Advice says what to do about it, as a sentence of its own; empty when there
	// is nothing to do.
	Advice string `json:"advice,omitempty"`
}
