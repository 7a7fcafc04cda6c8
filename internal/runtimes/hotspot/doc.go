// Package hotspot reads the Java frames of a HotSpot virtual machine (OpenJDK) out of a process, by the tables that the
// machine exports for debuggers: gHotSpotVMStructs and its kin.
//
// A VM is found by those symbols. It answers which code of the code cache an address is in, walks
// interpreted and compiled frames (Java is the stepper), and names the method activations of a frame, inlined ones too (Calls).
//
// Every structure is checked before it is believed: a method leads to its class and back to its own constants, a
// bytecode address lies in its method, code lies in the blob that has it. What fails has no name, and the stack
// is walked as if the virtual machine were not there. All reads are bounded. Concurrent use is allowed.
//
// Offsets come from the tables alone. What they do not say (the places of values in an interpreted frame) is
// that of x86-64; other machines are refused.
package hotspot
