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

#include "../../layouts/testdata/layout.h"

void say(void)
{
	FIELD("process.id", Process, common.id);
	FIELD("process.timer", Process, common.timer);
	FIELD("process.name", Process, common.u.alive.reg);
	FIELD("process.monitors", Process, common.u.alive.monitors);
	FIELD("process.top", Process, htop);
	FIELD("process.stop", Process, stop);
	FIELD("process.heap", Process, heap);
	FIELD("process.end", Process, hend);
	FIELD("process.abandoned", Process, abandoned_heap);
	FIELD("process.words", Process, heap_sz);
	FIELD("process.arity", Process, arity);
	FIELD("process.arguments", Process, arg_reg);
	FIELD("process.i", Process, i);
	FIELD("process.reason", Process, freason);
	FIELD("process.value", Process, fvalue);
	FIELD("process.trace", Process, ftrace);
	FIELD("process.messages", Process, sig_qs.first);
	FIELD("process.save", Process, sig_qs.save);
	FIELD("process.initial", Process, u.initial);
	FIELD("process.current", Process, current);
	FIELD("process.parent", Process, parent);
	FIELD("process.flags", Process, flags);
	FIELD("process.state", Process, state);
	FIELD("process.scheduler", Process, scheduler_data);
	FIELD("process.data", Process, psd);
	SAY("process.size", sizeof(Process));
	FIELD("message.next", ErtsMessage, next);
	FIELD("scheduler.registers", ErtsSchedulerData, registers);
	FIELD("scheduler.thread", ErtsSchedulerData, tid);
	FIELD("scheduler.process", ErtsSchedulerData, current_process);
	FIELD("scheduler.type", ErtsSchedulerData, type);
	FIELD("scheduler.number", ErtsSchedulerData, no);
	FIELD("scheduler.dirty", ErtsSchedulerData, dirty_no);
	FIELD("scheduler.shadow", ErtsSchedulerData, dirty_shadow_process);
	FIELD("scheduler.nif", ErtsSchedulerData, current_nif);
	FIELD("scheduler.port", ErtsSchedulerData, current_port);
	SAY("scheduler.size", sizeof(ErtsAlignedSchedulerData));
	FIELD("registers.x", ErtsSchedulerRegisters, x_reg_array);
	SAY("registers.size", sizeof(ErtsSchedulerRegisters));
	SAY("registers.line", ERTS_CACHE_LINE_SIZE);
	FIELD("table.last", ErtsPTab, vola.tile.last_data);
	FIELD("table.count", ErtsPTab, vola.tile.count);
	FIELD("table.slots", ErtsPTab, r.o.tab);
	FIELD("table.max", ErtsPTab, r.o.max);
	FIELD("table.invalid", ErtsPTab, r.o.invalid_element);
	FIELD("table.mask", ErtsPTab, r.o.pix_mask);
	FIELD("table.linemask", ErtsPTab, r.o.pix_cl_mask);
	FIELD("table.inmask", ErtsPTab, r.o.pix_cli_mask);
	FIELD("table.lineshift", ErtsPTab, r.o.pix_cl_shift);
	FIELD("table.inshift", ErtsPTab, r.o.pix_cli_shift);
	FIELD("index.entries", IndexTable, entries);
	FIELD("index.segments", IndexTable, seg_table);
	FIELD("atom.index", Atom, slot.index);
	FIELD("atom.length", Atom, len);
	FIELD("atom.name", Atom, name);
	FIELD("name.process", RegProc, p);
	FIELD("name.name", RegProc, name);
	FIELD("code.count", BeamCodeHeader, num_functions);
	FIELD("code.lines", BeamCodeHeader, line_table);
	FIELD("code.functions", BeamCodeHeader, functions);
	FIELD("lines.files", BeamCodeLineTab, fname_ptr);
	FIELD("lines.size", BeamCodeLineTab, loc_size);
	FIELD("lines.locations", BeamCodeLineTab, loc_tab);
	FIELD("lines.functions", BeamCodeLineTab, func_tab);
	FIELD("info.function", ErtsCodeInfo, mfa);
	SAY("info.size", sizeof(ErtsCodeInfo));
	FIELD("function.module", ErtsCodeMFA, module);
	FIELD("function.name", ErtsCodeMFA, function);
	FIELD("function.arity", ErtsCodeMFA, arity);
	FIELD("monitor.right", ErtsMonitor, node.tree.right);
	FIELD("monitor.left", ErtsMonitor, node.tree.left);
	FIELD("monitor.other", ErtsMonitor, other.item);
	FIELD("monitor.keyoffset", ErtsMonitor, key_offset);
	FIELD("monitor.flags", ErtsMonitor, flags);
	FIELD("monitor.type", ErtsMonitor, type);
	SAY("monitor.target", ERTS_ML_FLG_TARGET);
	SAY("monitor.process", ERTS_MON_TYPE_PROC);
	FIELD("data.origin", ErtsMonitorData, origin);
	FIELD("data.ref", ErtsMonitorData, ref);
	FIELD("fun.entry", ErlFunThing, entry.fun);
	FIELD("fun.environment", ErlFunThing, env);
	FIELD("export.function", Export, info.mfa);
	SAY("tag.fun", FUN_SUBTAG >> 2);
#ifdef HEAP_BINARY_SUBTAG
	SAY("tag.binary", HEAP_BINARY_SUBTAG >> 2);
	SAY("tag.shared", REFC_BINARY_SUBTAG >> 2);
	SAY("tag.part", SUB_BINARY_SUBTAG >> 2);
	FIELD("binary.size", ErlHeapBin, size);
	FIELD("binary.bytes", ErlHeapBin, data);
	FIELD("shared.size", ProcBin, size);
	FIELD("shared.bytes", ProcBin, bytes);
	FIELD("part.size", ErlSubBin, size);
	FIELD("part.offset", ErlSubBin, offs);
	FIELD("part.bits", ErlSubBin, bitsize);
	FIELD("part.bitoffset", ErlSubBin, bitoffs);
	FIELD("part.of", ErlSubBin, orig);
	FIELD("fun.creator", ErlFunThing, creator);
#else
	SAY("tag.bits", HEAP_BITS_SUBTAG >> 2);
	SAY("tag.partbits", SUB_BITS_SUBTAG >> 2);
	SAY("tag.sharedbits", BIN_REF_SUBTAG >> 2);
	FIELD("bits.size", ErlHeapBits, size);
	FIELD("bits.bytes", ErlHeapBits, data);
	FIELD("partbits.base", ErlSubBits, base_flags);
	FIELD("partbits.start", ErlSubBits, start);
	FIELD("partbits.end", ErlSubBits, end);
	FIELD("partbits.of", ErlSubBits, orig);
	SAY("partbits.mask", ERL_SUB_BITS_FLAG_MASK);
#endif
#ifdef FUN_HEADER_ARITY_OFFS
	SAY("fun.envshift", FUN_HEADER_ENV_SIZE_OFFS);
#endif
	FIELD("entry.module", ErlFunEntry, module);
	FIELD("entry.uniq", ErlFunEntry, old_uniq);
	FIELD("entry.index", ErlFunEntry, old_index);
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
