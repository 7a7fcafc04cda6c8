/* Makes a line "field offset" of each field that corewalk reads, as text of the assembler: layouts.sh cuts them out. It needs Ruby's sources, of which four
   define what they use themselves. */
#if PART == 1
#include "cont.c"
#elif PART == 2
#include "thread.c"
#elif PART == 3
#include "vm_backtrace.c"
#elif PART == 4
#if VERSION >= 304
#include "gc/default/default.c"
#else
#include "gc.c"
#endif
#else
#include "ruby/encoding.h"
#include "ruby/io.h"
#include "ruby/re.h"
#include "internal.h"
#include "vm_core.h"
#include "iseq.h"
#include "method.h"
#include "symbol.h"
#include "ruby/st.h"
#if VERSION >= 300
#include "ractor_core.h"
#include "internal/class.h"
#include "internal/hash.h"
#include "internal/object.h"
#include "internal/struct.h"
#include "internal/bignum.h"
#include "internal/rational.h"
#include "internal/complex.h"
#include "internal/range.h"
#include "internal/error.h"
#include "internal/variable.h"
#include "internal/imemo.h"
#endif
#if VERSION >= 302
#include "shape.h"
#endif
#include <stddef.h>
#endif

#include "../../layouts/testdata/layout.h"

void layout(void)
{
#if PART == 1
	FIELD("fiber.ec", rb_fiber_t, cont.saved_ec);
	FIELD("fiber.self", rb_fiber_t, cont.self);
	FIELD("fiber.prev", rb_fiber_t, prev);
	FIELD("fiber.stack", rb_fiber_t, context);
#elif PART == 2
#if VERSION >= 300
	FIELD("mutex.owner", rb_mutex_t, fiber);
#else
	FIELD("mutex.owner", rb_mutex_t, th);
#endif
	FIELD("mutex.next", rb_mutex_t, next_mutex);
#elif PART == 3
	FIELD("backtrace.list", rb_backtrace_t, backtrace);
	FIELD("backtrace.size", rb_backtrace_t, backtrace_size);
#if VERSION >= 304
	FIELD("location.entry", rb_backtrace_location_t, cme);
#else
	FIELD("location.type", rb_backtrace_location_t, type);
#endif
#if VERSION < 301
	FIELD("location.iseq", rb_backtrace_location_t, body.iseq.iseq);
	FIELD("location.pc", rb_backtrace_location_t, body.iseq.lineno.pc);
	FIELD("location.method", rb_backtrace_location_t, body.cfunc.mid);
#else
	FIELD("location.iseq", rb_backtrace_location_t, iseq);
	FIELD("location.pc", rb_backtrace_location_t, pc);
#if VERSION < 304
	FIELD("location.method", rb_backtrace_location_t, mid);
#endif
#endif
	SAY("location.size", sizeof(rb_backtrace_location_t));
#if VERSION < 304
	SAY("location.ofc", LOCATION_TYPE_CFUNC);
#endif
#elif PART == 4
	FIELD("space.pages", rb_objspace_t, heap_pages.sorted);
#if VERSION >= 304
	FIELD("sorted.count", rb_darray_meta_t, size);
	SAY("sorted.size", sizeof(rb_darray_meta_t));
#else
	FIELD("space.count", rb_objspace_t, heap_pages.allocated_pages);
#endif
	FIELD("page.start", struct heap_page, start);
	FIELD("page.slots", struct heap_page, total_slots);
#if VERSION >= 301
	FIELD("page.slot", struct heap_page, slot_size);
#endif
#else
	FIELD("vm.main", rb_vm_t, VM_MAIN_THREAD);
	FIELD("vm.self", rb_vm_t, top_self);
#if VERSION >= 304
	FIELD("vm.space", rb_vm_t, gc.objspace);
#else
	FIELD("vm.space", rb_vm_t, objspace);
#endif
	FIELD("thread.vm", rb_thread_t, vm);
	FIELD("thread.ec", rb_thread_t, ec);
	FIELD("thread.root", rb_thread_t, root_fiber);
	FIELD("thread.self", rb_thread_t, self);
	FIELD("thread.locking", rb_thread_t, locking_mutex);
	FIELD("thread.keeping", rb_thread_t, keeping_mutexes);
	FIELD("thread.name", rb_thread_t, name);
	FIELD("thread.join", rb_thread_t, join_list);
#if VERSION < 300
	FIELD("vm.threads", rb_vm_t, living_threads);
	FIELD("thread.list", rb_thread_t, vmlt_node);
	FIELD("thread.pthread", rb_thread_t, thread_id);
	FIELD("vm.gvl", rb_vm_t, gvl.owner);
#elif VERSION < 302
	FIELD("vm.ractors", rb_vm_t, ractor.set);
	FIELD("vm.ractor", rb_vm_t, ractor.main_ractor);
	FIELD("ractor.list", rb_ractor_t, vmlr_node);
	FIELD("ractor.threads", rb_ractor_t, threads.set);
	FIELD("ractor.gvl", rb_ractor_t, threads.gvl.owner);
	FIELD("thread.list", rb_thread_t, lt_node);
#if VERSION >= 301
	FIELD("thread.tid", rb_thread_t, tid);
#endif
	FIELD("thread.pthread", rb_thread_t, thread_id);
#else
	FIELD("vm.ractors", rb_vm_t, ractor.set);
	FIELD("vm.ractor", rb_vm_t, ractor.main_ractor);
	FIELD("ractor.list", rb_ractor_t, vmlr_node);
	FIELD("ractor.threads", rb_ractor_t, threads.set);
	FIELD("ractor.gvl", rb_ractor_t, threads.sched.running);
	FIELD("thread.list", rb_thread_t, lt_node);
	FIELD("thread.native", rb_thread_t, nt);
	FIELD("native.tid", struct rb_native_thread, tid);
	FIELD("native.pthread", struct rb_native_thread, thread_id);
#endif
	FIELD("ec.stack", rb_execution_context_t, vm_stack);
	FIELD("ec.words", rb_execution_context_t, vm_stack_size);
	FIELD("ec.cfp", rb_execution_context_t, cfp);
	FIELD("ec.fiber", rb_execution_context_t, fiber_ptr);
	FIELD("ec.thread", rb_execution_context_t, thread_ptr);
	FIELD("ec.errinfo", rb_execution_context_t, errinfo);
	FIELD("frame.pc", rb_control_frame_t, pc);
	FIELD("frame.iseq", rb_control_frame_t, iseq);
	FIELD("frame.self", rb_control_frame_t, self);
	FIELD("frame.ep", rb_control_frame_t, ep);
	SAY("frame.size", sizeof(rb_control_frame_t));
	FIELD("iseq.body", rb_iseq_t, body);
	FIELD("body.type", struct rb_iseq_constant_body, type);
	FIELD("body.size", struct rb_iseq_constant_body, iseq_size);
	FIELD("body.code", struct rb_iseq_constant_body, iseq_encoded);
	FIELD("body.lead", struct rb_iseq_constant_body, param.lead_num);
	FIELD("body.flags", struct rb_iseq_constant_body, param);
	FIELD("body.block", struct rb_iseq_constant_body, param.block_start);
	FIELD("body.params", struct rb_iseq_constant_body, param.size);
	FIELD("body.path", struct rb_iseq_constant_body, location.pathobj);
	FIELD("body.base", struct rb_iseq_constant_body, location.base_label);
	FIELD("body.label", struct rb_iseq_constant_body, location.label);
	FIELD("body.first", struct rb_iseq_constant_body, location.first_lineno);
	FIELD("body.infos", struct rb_iseq_constant_body, insns_info.body);
	FIELD("body.positions", struct rb_iseq_constant_body, insns_info.positions);
	FIELD("body.infocount", struct rb_iseq_constant_body, insns_info.size);
	FIELD("body.succinct", struct rb_iseq_constant_body, insns_info.succ_index_table);
	FIELD("body.locals", struct rb_iseq_constant_body, local_table);
	FIELD("body.localcount", struct rb_iseq_constant_body, local_table_size);
	FIELD("body.parent", struct rb_iseq_constant_body, parent_iseq);
	FIELD("body.local", struct rb_iseq_constant_body, local_iseq);
#if VERSION >= 304
	FIELD("body.attributes", struct rb_iseq_constant_body, builtin_attrs);
	SAY("body.ofc", BUILTIN_ATTR_C_TRACE);
#endif
	FIELD("info.line", struct iseq_insn_info_entry, line_no);
	SAY("info.size", sizeof(struct iseq_insn_info_entry));
	FIELD("method.class", rb_callable_method_entry_t, defined_class);
	FIELD("method.definition", rb_callable_method_entry_t, def);
	FIELD("method.owner", rb_callable_method_entry_t, owner);
	FIELD("definition.function", rb_method_definition_t, body.cfunc.func);
	FIELD("definition.id", rb_method_definition_t, original_id);
	FIELD("symbols.last", rb_symbols_t, last_id);
	FIELD("symbols.strings", rb_symbols_t, str_sym);
	FIELD("symbols.ids", rb_symbols_t, ids);
	FIELD("symbol.id", struct RSymbol, id);
	FIELD("symbol.text", struct RSymbol, fstr);
#if VERSION >= 303
	FIELD("string.length", struct RString, len);
#else
	FIELD("string.length", struct RString, as.heap.len);
#endif
	FIELD("string.pointer", struct RString, as.heap.ptr);
#if VERSION >= 301
	FIELD("string.embedded", struct RString, as.embed.ary);
#else
	FIELD("string.embedded", struct RString, as.ary);
#endif
	FIELD("array.length", struct RArray, as.heap.len);
	FIELD("array.pointer", struct RArray, as.heap.ptr);
	FIELD("array.embedded", struct RArray, as.ary);
	FIELD("float.value", struct { struct RBasic b; double v; }, v);
#if VERSION < 303
	FIELD("hash.st", struct RHash, as.st);
	FIELD("hash.ar", struct RHash, as.ar);
#else
	SAY("hash.inside", sizeof(struct RHash));
#endif
	FIELD("st.entries", st_table, num_entries);
	FIELD("st.list", st_table, entries);
	FIELD("st.bins", st_table, bins);
	FIELD("st.from", st_table, entries_start);
	FIELD("st.to", st_table, entries_bound);
	FIELD("object.array", struct RObject, as.ary);
	FIELD("object.heap", struct RObject, as.heap.ivptr);
	FIELD("struct.array", struct RStruct, as.ary);
	FIELD("struct.length", struct RStruct, as.heap.len);
	FIELD("struct.heap", struct RStruct, as.heap.ptr);
	FIELD("class.super", struct RClass, super);
	FIELD("data.data", struct RTypedData, data);
	FIELD("data.type", struct RTypedData, type);
	FIELD("data.flag", struct RTypedData, typed_flag);
	FIELD("type.name", rb_data_type_t, wrap_struct_name);
#if VERSION < 302
	FIELD("class.ext", struct RClass, ptr);
	FIELD("ext.index", rb_classext_t, iv_index_tbl);
	FIELD("ext.variables", rb_classext_t, iv_tbl);
	FIELD("object.count", struct RObject, as.heap.numiv);
	FIELD("object.index", struct RObject, as.heap.iv_index_tbl);
#else
#if VERSION < 303
	SAY("class.inside", sizeof(struct RClass));
#else
	SAY("class.inside", offsetof(struct RClass_and_rb_classext_t, classext));
	FIELD("ext.path", rb_classext_t, classpath);
	FIELD("ext.attached", rb_classext_t, as.singleton_class.attached_object);
#endif
	FIELD("shape.name", rb_shape_t, edge_name);
	FIELD("shape.next", rb_shape_t, next_iv_index);
	FIELD("shape.type", rb_shape_t, type);
	FIELD("shape.parent", rb_shape_t, parent_id);
	SAY("shape.size", sizeof(rb_shape_t));
#if VERSION < 303
#define rb_shape_tree_t rb_vm_t
#endif
	FIELD("shapes.root", rb_shape_tree_t, root_shape);
	FIELD("shapes.list", rb_shape_tree_t, shape_list);
	FIELD("shapes.next", rb_shape_tree_t, next_shape_id);
	SAY("shape.shift", SHAPE_FLAG_SHIFT);
	SAY("shape.complex", SHAPE_OBJ_TOO_COMPLEX);
#endif
	SAY("bignum.digit", SIZEOF_BDIGIT);
	FIELD("bignum.embedded", struct RBignum, as.ary);
	FIELD("bignum.length", struct RBignum, as.heap.len);
	FIELD("bignum.heap", struct RBignum, as.heap.digits);
	FIELD("regexp.pattern", struct RRegexp, ptr);
	FIELD("regexp.source", struct RRegexp, src);
	FIELD("pattern.options", struct re_pattern_buffer, options);
	SAY("value.nil", Qnil);
	SAY("value.true", Qtrue);
	SAY("value.undef", Qundef);
	SAY("class.singleton", RUBY_FL_SINGLETON);
	SAY("id.shift", ID_SCOPE_SHIFT);
	SAY("id.last", tLAST_OP_ID);
#endif
}
