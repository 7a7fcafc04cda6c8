/* Says where a version of Erlang keeps things: layouts.sh compiles it with the headers of that version, and reads the assembly. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "sys.h"
#include "erl_vm.h"
#include "global.h"
#include "erl_process.h"
#include "erl_map.h"
#include "erl_fun.h"
#include "erl_bits.h"
#include "erl_binary.h"
#include "atom.h"
#include "register.h"
#include "export.h"
#include "beam_code.h"
#include "code_ix.h"
#include "erl_monitor_link.h"
#include "erl_node_container_utils.h"

#define SAY(name, v) __asm__ volatile("\n->" name " %c0" : : "i"((unsigned long)(v)))
#define AT(name, type, member) SAY(name, offsetof(type, member))

void say(void)
{
	AT("process.id", Process, common.id);
	AT("process.timer", Process, common.timer);
	AT("process.name", Process, common.u.alive.reg);
	AT("process.monitors", Process, common.u.alive.monitors);
	AT("process.top", Process, htop);
	AT("process.stop", Process, stop);
	AT("process.heap", Process, heap);
	AT("process.end", Process, hend);
	AT("process.abandoned", Process, abandoned_heap);
	AT("process.words", Process, heap_sz);
	AT("process.arity", Process, arity);
	AT("process.arguments", Process, arg_reg);
	AT("process.i", Process, i);
	AT("process.reason", Process, freason);
	AT("process.value", Process, fvalue);
	AT("process.trace", Process, ftrace);
	AT("process.messages", Process, sig_qs.first);
	AT("process.save", Process, sig_qs.save);
	AT("process.initial", Process, u.initial);
	AT("process.current", Process, current);
	AT("process.parent", Process, parent);
	AT("process.flags", Process, flags);
	AT("process.state", Process, state);
	AT("process.scheduler", Process, scheduler_data);
	AT("process.data", Process, psd);
	SAY("process.size", sizeof(Process));
	AT("message.next", ErtsMessage, next);
	AT("scheduler.registers", ErtsSchedulerData, registers);
	AT("scheduler.thread", ErtsSchedulerData, tid);
	AT("scheduler.process", ErtsSchedulerData, current_process);
	AT("scheduler.type", ErtsSchedulerData, type);
	AT("scheduler.number", ErtsSchedulerData, no);
	AT("scheduler.dirty", ErtsSchedulerData, dirty_no);
	AT("scheduler.shadow", ErtsSchedulerData, dirty_shadow_process);
	AT("scheduler.nif", ErtsSchedulerData, current_nif);
	AT("scheduler.port", ErtsSchedulerData, current_port);
	SAY("scheduler.size", sizeof(ErtsAlignedSchedulerData));
	AT("registers.x", ErtsSchedulerRegisters, x_reg_array);
	SAY("registers.size", sizeof(ErtsSchedulerRegisters));
	SAY("registers.line", ERTS_CACHE_LINE_SIZE);
	AT("table.last", ErtsPTab, vola.tile.last_data);
	AT("table.count", ErtsPTab, vola.tile.count);
	AT("table.slots", ErtsPTab, r.o.tab);
	AT("table.max", ErtsPTab, r.o.max);
	AT("table.invalid", ErtsPTab, r.o.invalid_element);
	AT("table.mask", ErtsPTab, r.o.pix_mask);
	AT("table.linemask", ErtsPTab, r.o.pix_cl_mask);
	AT("table.inmask", ErtsPTab, r.o.pix_cli_mask);
	AT("table.lineshift", ErtsPTab, r.o.pix_cl_shift);
	AT("table.inshift", ErtsPTab, r.o.pix_cli_shift);
	AT("index.entries", IndexTable, entries);
	AT("index.segments", IndexTable, seg_table);
	AT("atom.index", Atom, slot.index);
	AT("atom.length", Atom, len);
	AT("atom.name", Atom, name);
	AT("name.process", RegProc, p);
	AT("name.name", RegProc, name);
	AT("code.count", BeamCodeHeader, num_functions);
	AT("code.lines", BeamCodeHeader, line_table);
	AT("code.functions", BeamCodeHeader, functions);
	AT("lines.files", BeamCodeLineTab, fname_ptr);
	AT("lines.size", BeamCodeLineTab, loc_size);
	AT("lines.locations", BeamCodeLineTab, loc_tab);
	AT("lines.functions", BeamCodeLineTab, func_tab);
	AT("info.function", ErtsCodeInfo, mfa);
	SAY("info.size", sizeof(ErtsCodeInfo));
	AT("function.module", ErtsCodeMFA, module);
	AT("function.name", ErtsCodeMFA, function);
	AT("function.arity", ErtsCodeMFA, arity);
	AT("monitor.right", ErtsMonitor, node.tree.right);
	AT("monitor.left", ErtsMonitor, node.tree.left);
	AT("monitor.other", ErtsMonitor, other.item);
	AT("monitor.keyoffset", ErtsMonitor, key_offset);
	AT("monitor.flags", ErtsMonitor, flags);
	AT("monitor.type", ErtsMonitor, type);
	SAY("monitor.target", ERTS_ML_FLG_TARGET);
	SAY("monitor.process", ERTS_MON_TYPE_PROC);
	AT("data.origin", ErtsMonitorData, origin);
	AT("data.ref", ErtsMonitorData, ref);
	AT("fun.entry", ErlFunThing, entry.fun);
	AT("fun.environment", ErlFunThing, env);
	AT("export.function", Export, info.mfa);
	SAY("tag.fun", FUN_SUBTAG >> 2);
#ifdef HEAP_BINARY_SUBTAG
	SAY("tag.binary", HEAP_BINARY_SUBTAG >> 2);
	SAY("tag.shared", REFC_BINARY_SUBTAG >> 2);
	SAY("tag.part", SUB_BINARY_SUBTAG >> 2);
	AT("binary.size", ErlHeapBin, size);
	AT("binary.bytes", ErlHeapBin, data);
	AT("shared.size", ProcBin, size);
	AT("shared.bytes", ProcBin, bytes);
	AT("part.size", ErlSubBin, size);
	AT("part.offset", ErlSubBin, offs);
	AT("part.bits", ErlSubBin, bitsize);
	AT("part.bitoffset", ErlSubBin, bitoffs);
	AT("part.of", ErlSubBin, orig);
	AT("fun.creator", ErlFunThing, creator);
#else
	SAY("tag.bits", HEAP_BITS_SUBTAG >> 2);
	SAY("tag.partbits", SUB_BITS_SUBTAG >> 2);
	SAY("tag.sharedbits", BIN_REF_SUBTAG >> 2);
	AT("bits.size", ErlHeapBits, size);
	AT("bits.bytes", ErlHeapBits, data);
	AT("partbits.base", ErlSubBits, base_flags);
	AT("partbits.start", ErlSubBits, start);
	AT("partbits.end", ErlSubBits, end);
	AT("partbits.of", ErlSubBits, orig);
	SAY("partbits.mask", ERL_SUB_BITS_FLAG_MASK);
#endif
#ifdef FUN_HEADER_ARITY_OFFS
	SAY("fun.envshift", FUN_HEADER_ENV_SIZE_OFFS);
#endif
	AT("entry.module", ErlFunEntry, module);
	AT("entry.uniq", ErlFunEntry, old_uniq);
	AT("entry.index", ErlFunEntry, old_index);
	SAY("tag.map", MAP_SUBTAG >> 2);
	SAY("tag.ref", REF_SUBTAG >> 2);
	SAY("tag.float", FLOAT_SUBTAG >> 2);
	SAY("tag.positive", POS_BIG_SUBTAG >> 2);
	SAY("tag.pid", EXTERNAL_PID_SUBTAG >> 2);
	SAY("state.free", ERTS_PSFLG_FREE);
	SAY("state.exiting", ERTS_PSFLG_EXITING);
	SAY("state.active", ERTS_PSFLG_ACTIVE);
	SAY("state.queued", ERTS_PSFLG_IN_RUNQ);
	SAY("state.running", ERTS_PSFLG_RUNNING);
	SAY("state.suspended", ERTS_PSFLG_SUSPENDED);
	SAY("state.gc", ERTS_PSFLG_GC);
	SAY("state.system", ERTS_PSFLG_ACTIVE_SYS);
	SAY("state.runningsystem", ERTS_PSFLG_RUNNING_SYS);
	SAY("state.proxy", ERTS_PSFLG_PROXY);
	SAY("state.dirty", ERTS_PSFLG_DIRTY_RUNNING);
	SAY("state.dirtysystem", ERTS_PSFLG_DIRTY_RUNNING_SYS);
	SAY("state.dirtyactive", ERTS_PSFLG_DIRTY_ACTIVE_SYS);
	SAY("flags.heap", F_ABANDONED_HEAP_USE);
	SAY("pid.bits", _PID_NUM_SIZE);
#if _PID_DATA_SIZE == 28
	SAY("pid.slot", 32); /* which such an identifier has besides its number */
#endif
	SAY("code.versions", ERTS_NUM_CODE_IX);
}
