package report

import "time"

// Details are what a dump tells of the process and its machine besides threads,
// modules and memory: much for minidumps, little for cores. What is not known is left
// out.
type Details struct {
	System System `json:"system"`
	// Started is when the process was started, and Uptime how many seconds it had run
	// by then; nil when not known.
	Started time.Time `json:"started,omitzero"`
	Uptime  *int      `json:"uptime,omitempty"`
	// UserTime and KernelTime are the processor's, in seconds.
	UserTime   int    `json:"user_time,omitempty"`
	KernelTime int    `json:"kernel_time,omitempty"`
	Integrity  string `json:"integrity,omitempty"` // level of trust in the process, of Windows: "medium"
	// Mappings is how many mappings the process had, of Linux, where all are known:
	// the kernel allows 65530 unless told otherwise.
	Mappings int `json:"mappings,omitempty"`
	// Flags is what the writer of a minidump was asked for (MINIDUMP_TYPE).
	Flags Addr `json:"flags,omitempty"`
	// RequestingThread is the thread that asked for the dump, WritingThread the one
	// that wrote it; 0 when not known.
	RequestingThread int              `json:"requesting_thread,omitempty"`
	WritingThread    int              `json:"writing_thread,omitempty"`
	Exception        *ExceptionRecord `json:"exception,omitempty"`
	UnloadedModules  []UnloadedModule `json:"unloaded_modules,omitempty"`
	Handles          []Handle         `json:"handles,omitempty"`
	Crashpad         *Crashpad        `json:"crashpad,omitempty"`
	Annotations      []Annotation     `json:"annotations,omitempty"`
	Comments         []string         `json:"comments,omitempty"`
	Limits           []Limit          `json:"limits,omitempty"`
	MacCrashes       []MacCrash       `json:"mac_crashes,omitempty"`
	BootArgs         string           `json:"boot_args,omitempty"`
	// SoftErrors is a JSON document: what the writer of the dump could not do.
	SoftErrors string `json:"soft_errors,omitempty"`
}

// A System is what a dump tells of the machine.
type System struct {
	Version string `json:"version,omitempty"` // of the operating system: "10.0.19041 Service Pack 1"
	// Platform is the minidump's number for an operating system without a name here.
	Platform  Addr   `json:"platform,omitempty"`
	Product   string `json:"product,omitempty"`   // kind of Windows: "workstation"
	Build     string `json:"build,omitempty"`     // the system's own word for its build
	CPU       string `json:"cpu,omitempty"`       // "GenuineIntel family 6 model 60 stepping 3"
	CPUs      int    `json:"cpus,omitempty"`      // logical processors
	Microcode string `json:"microcode,omitempty"` // version in hexadecimal: "0xf0"
	MHz       int    `json:"mhz,omitempty"`       // highest
	// Distribution is what /etc/lsb-release or /etc/os-release says.
	Distribution *Distribution `json:"distribution,omitempty"`
	TimeZone     string        `json:"time_zone,omitempty"`
	// WOW64 says that the process is one of 32 bits whose dump was written from its side
	// of 64: the threads are those of which the dump has the 32-bit registers.
	WOW64 bool `json:"wow64,omitempty"`
}

// A Distribution is one of Linux.
type Distribution struct {
	ID          string `json:"id,omitempty"`
	Release     string `json:"release,omitempty"`
	Codename    string `json:"codename,omitempty"`
	Description string `json:"description,omitempty"`
}

// An ExceptionRecord is the numbers of a minidump's exception. On Windows they are
// those of EXCEPTION_RECORD; on Linux Code is the signal, Flags its code and Address
// si_addr; on macOS they are the kind, the code and the subcode.
type ExceptionRecord struct {
	Thread     int    `json:"thread"`
	Name       string `json:"name,omitempty"` // "EXCEPTION_ACCESS_VIOLATION_READ", "SIGSEGV"
	Code       Addr   `json:"code"`
	Flags      Addr   `json:"flags"`
	Address    Addr   `json:"address"`
	Nested     Addr   `json:"nested,omitempty"` // address of the record of an earlier exception
	Parameters []Addr `json:"parameters,omitempty"`
}

// An UnloadedModule is one that the process had before: a line of a log, in which
// entries repeat and overlap.
type UnloadedModule struct {
	Path   string `json:"path"`
	Base   Addr   `json:"base"`
	End    Addr   `json:"end"`
	CodeID string `json:"code_id,omitempty"`
}

// A Handle is an open object of the process.
type Handle struct {
	Value  Addr   `json:"value"`
	Type   string `json:"type,omitempty"` // "File", "Event"
	Object string `json:"object,omitempty"`
}

// Crashpad identifies a report.
type Crashpad struct {
	Version  int    `json:"version"`
	ReportID string `json:"report_id,omitempty"`
	ClientID string `json:"client_id,omitempty"`
}

// The values of Annotation.Kind.
const (
	AnnotationSimple = "simple" // of a dictionary
	AnnotationList   = "list"   // a line without a key
	AnnotationObject = "object" // with a type: text, or bytes in hexadecimal
)

// An Annotation is what the program, or one of its modules, told Crashpad to put into
// the dump.
type Annotation struct {
	Kind string `json:"kind"` // one of the Annotation constants
	// Module is the path of the module it is of, ModuleIndex its number in the dump's
	// list; "" and nil for the program's own.
	Module      string `json:"module,omitempty"`
	ModuleIndex *int   `json:"module_index,omitempty"`
	Key         string `json:"key,omitempty"`
	Value       string `json:"value"`
}

// A Limit is a line of /proc/PID/limits; Soft and Hard are numbers or "unlimited".
type Limit struct {
	Name string `json:"name"`
	Soft string `json:"soft"`
	Hard string `json:"hard"`
	Unit string `json:"unit,omitempty"`
}

// A MacCrash is the section __crash_info of a module: what it said before it ended the
// process.
type MacCrash struct {
	Module     string `json:"module,omitempty"`
	Message    string `json:"message,omitempty"`
	Message2   string `json:"message2,omitempty"`
	Signature  string `json:"signature,omitempty"`
	Backtrace  string `json:"backtrace,omitempty"`
	Thread     Addr   `json:"thread,omitempty"`
	DialogMode Addr   `json:"dialog_mode,omitempty"`
	AbortCause Addr   `json:"abort_cause,omitempty"`
}
