package report

import "time"

// Details is what a dump says about the process and its machine besides threads, modules and memory. Minidumps
// say much, cores little. Unknown fields are left out.
type Details struct {
	System System `json:"system"`
	// Started is when the process was started, Uptime how many seconds it had run when it was dumped; nil if
	// not known.
	Started time.Time `json:"started,omitzero"`
	Uptime  *int      `json:"uptime,omitempty"`
	// UserTime and KernelTime are processor time, in seconds.
	UserTime   int    `json:"user_time,omitempty"`
	KernelTime int    `json:"kernel_time,omitempty"`
	Integrity  string `json:"integrity,omitempty"` // Windows integrity level: "medium"
	// Mappings is the number of mappings of a Linux process, if all are known. The kernel allows 65530 by
	// default.
	Mappings int `json:"mappings,omitempty"`
	// Flags is what the writer of a minidump was asked to include (MINIDUMP_TYPE).
	Flags Addr `json:"flags,omitempty"`
	// RequestingThread is the thread that requested the dump, WritingThread the one that wrote it; 0 if not
	// known.
	RequestingThread int              `json:"requesting_thread,omitempty"`
	WritingThread    int              `json:"writing_thread,omitempty"`
	Exception        *ExceptionRecord `json:"exception,omitempty"`
	UnloadedModules  []UnloadedModule `json:"unloaded_modules,omitempty"`
	Handles          []Handle         `json:"handles,omitempty"`
	Crashpad         *Crashpad        `json:"crashpad,omitempty"`
	Annotations      []Annotation     `json:"annotations,omitempty"`
	Comments         []string         `json:"comments,omitempty"` // texts that the writer of the dump added
	Limits           []Limit          `json:"limits,omitempty"`
	MacCrashes       []MacCrash       `json:"mac_crashes,omitempty"`
	BootArgs         string           `json:"boot_args,omitempty"` // the kernel's boot arguments
	// SoftErrors is a JSON document: the problems that the writer of the dump ran into.
	SoftErrors string `json:"soft_errors,omitempty"`
}

// A System is what a dump says about the machine.
type System struct {
	Version string `json:"version,omitempty"` // of the operating system: "10.0.19041 Service Pack 1"
	// Platform is the minidump's number for an operating system that has no name here.
	Platform  Addr   `json:"platform,omitempty"`
	Product   string `json:"product,omitempty"`   // edition of Windows: "workstation"
	Build     string `json:"build,omitempty"`     // the system's own description of its build
	CPU       string `json:"cpu,omitempty"`       // "GenuineIntel family 6 model 60 stepping 3"
	CPUs      int    `json:"cpus,omitempty"`      // logical processors
	Microcode string `json:"microcode,omitempty"` // version in hexadecimal: "0xf0"
	MHz       int    `json:"mhz,omitempty"`       // highest clock rate
	// Distribution is from /etc/lsb-release or /etc/os-release.
	Distribution *Distribution `json:"distribution,omitempty"`
	TimeZone     string        `json:"time_zone,omitempty"` // name of the time zone
	// WOW64 says that this is a 32-bit process on 64-bit Windows, dumped from its 64-bit side. Threads lists
	// those whose 32-bit registers are in the dump.
	WOW64 bool `json:"wow64,omitempty"`
}

// A Distribution is a Linux distribution.
type Distribution struct {
	ID          string `json:"id,omitempty"`          // "ubuntu"
	Release     string `json:"release,omitempty"`     // "22.04"
	Codename    string `json:"codename,omitempty"`    // "jammy"
	Description string `json:"description,omitempty"` // "Ubuntu 22.04.4 LTS"
}

// An ExceptionRecord has the numbers of a minidump's exception. On Windows they are those of EXCEPTION_RECORD;
// on Linux Code is the signal, Flags its code and Address si_addr; on macOS they are the exception type, code
// and subcode.
type ExceptionRecord struct {
	Thread     int    `json:"thread"`               // identifier of the thread
	Name       string `json:"name,omitempty"`       // "EXCEPTION_ACCESS_VIOLATION_READ", "SIGSEGV"
	Code       Addr   `json:"code"`                 // the exception's number
	Flags      Addr   `json:"flags"`                // the system's flags
	Address    Addr   `json:"address"`              // where the exception was raised, or what it is about
	Nested     Addr   `json:"nested,omitempty"`     // address of the record of an earlier exception
	Parameters []Addr `json:"parameters,omitempty"` // further numbers; their meaning depends on the code
}

// An UnloadedModule is a module that the process had unloaded. The list is a log: entries repeat and overlap.
type UnloadedModule struct {
	Path   string `json:"path"`              // path in the process
	Base   Addr   `json:"base"`              // lowest address it had
	End    Addr   `json:"end"`               // first address past it
	CodeID string `json:"code_id,omitempty"` // identifies the file, as Module.CodeID
}

// A Handle is an open object of the process.
type Handle struct {
	Value  Addr   `json:"value"`            // number of the handle
	Type   string `json:"type,omitempty"`   // "File", "Event"
	Object string `json:"object,omitempty"` // name of the object
}

// Crashpad identifies a Crashpad report.
type Crashpad struct {
	Version  int    `json:"version"`             // of the structure
	ReportID string `json:"report_id,omitempty"` // identifies the report
	ClientID string `json:"client_id,omitempty"` // identifies the installation
}

// The values of Annotation.Kind.
const (
	AnnotationSimple = "simple" // from a dictionary
	AnnotationList   = "list"   // a line without a key
	AnnotationObject = "object" // has a type: text, or bytes in hexadecimal
)

// An Annotation is what the program, or one of its modules, told Crashpad to add to the dump.
type Annotation struct {
	Kind string `json:"kind"` // one of the Annotation constants
	// Module is the path of the module that set it, ModuleIndex its number in the dump's list; "" and nil for
	// annotations of the program itself.
	Module      string `json:"module,omitempty"`
	ModuleIndex *int   `json:"module_index,omitempty"`
	Key         string `json:"key,omitempty"` // name of the annotation
	Value       string `json:"value"`         // text, or bytes in hexadecimal
}

// A Limit is a line of /proc/PID/limits. Soft and Hard are numbers or "unlimited".
type Limit struct {
	Name string `json:"name"`           // name of the resource
	Soft string `json:"soft"`           // limit in force
	Hard string `json:"hard"`           // ceiling of the soft limit
	Unit string `json:"unit,omitempty"` // unit of the limits
}

// A MacCrash is the section __crash_info of a module: what the module reported before it ended the process.
type MacCrash struct {
	Module     string `json:"module,omitempty"`      // path of the module that recorded it
	Message    string `json:"message,omitempty"`     // what the module said
	Message2   string `json:"message2,omitempty"`    // a second message
	Signature  string `json:"signature,omitempty"`   // text that identifies the crash
	Backtrace  string `json:"backtrace,omitempty"`   // a backtrace, as text
	Thread     Addr   `json:"thread,omitempty"`      // identifier of the thread
	DialogMode Addr   `json:"dialog_mode,omitempty"` // as the module set it
	AbortCause Addr   `json:"abort_cause,omitempty"` // as the module set it
}
