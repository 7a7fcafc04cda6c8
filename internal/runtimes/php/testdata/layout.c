/* Prints where PHP keeps things: one line for each field, as layouts.txt has them. layouts.sh compiles it for each version. */
#include <stddef.h>
#include <stdio.h>
#ifdef FRAGMENTS /* one file of declarations instead of PHP's headers */
#include <stdint.h>
#include <stdbool.h>
#include <setjmp.h>
#include FRAGMENTS
#else
#include "php.h"
#include "SAPI.h"
#include "php_globals.h"
#include "zend_modules.h"
#include "zend_generators.h"
#include "zend_closures.h"
#if VERSION >= 801
#include "zend_fibers.h"
#endif
/* zend_closures.c */
typedef struct _zend_closure { zend_object std; zend_function func; zval this_ptr; zend_class_entry *called_scope; void *handler; } zend_closure;
#endif

#define F(name, type, field) printf("%s %zu\n", name, offsetof(type, field))

int main(void) {
	F("globals.current", struct _zend_executor_globals, current_execute_data);
	F("globals.exception", struct _zend_executor_globals, exception);
	F("globals.previous", struct _zend_executor_globals, prev_exception);
	F("globals.before", struct _zend_executor_globals, opline_before_exception);
	F("globals.exception_op", struct _zend_executor_globals, exception_op);
	F("globals.handler", struct _zend_executor_globals, user_exception_handler);
	F("globals.objects", struct _zend_executor_globals, objects_store);
	F("globals.symbols", struct _zend_executor_globals, symbol_table);
	F("call.opline", struct _zend_execute_data, opline);
	F("call.func", struct _zend_execute_data, func);
	F("call.this", struct _zend_execute_data, This);
	F("call.previous", struct _zend_execute_data, prev_execute_data);
	F("call.symbols", struct _zend_execute_data, symbol_table);
	printf("call.size %zu\n", sizeof(struct _zend_execute_data));
	F("func.flags", zend_op_array, fn_flags);
	F("func.name", zend_op_array, function_name);
	F("func.scope", zend_op_array, scope);
	F("func.arguments", zend_op_array, num_args);
	F("func.arginfo", zend_op_array, arg_info);
	F("func.last", zend_op_array, last);
	F("func.opcodes", zend_op_array, opcodes);
	F("func.lastvar", zend_op_array, last_var);
	F("func.temporaries", zend_op_array, T);
	F("func.vars", zend_op_array, vars);
	F("func.file", zend_op_array, filename);
	F("func.line", zend_op_array, line_start);
	F("func.end", zend_op_array, line_end);
	F("func.handler", zend_internal_function, handler);
	printf("arginfo.size %zu\n", sizeof(zend_internal_arg_info));
	F("op.extended", struct _zend_op, extended_value);
	F("op.line", struct _zend_op, lineno);
	F("op.code", struct _zend_op, opcode);
	printf("op.size %zu\n", sizeof(struct _zend_op));
	F("class.name", zend_class_entry, name);
	F("class.parent", zend_class_entry, parent);
	F("class.flags", zend_class_entry, ce_flags);
	F("class.count", zend_class_entry, default_properties_count);
	F("class.properties", zend_class_entry, properties_info);
#if VERSION < 800 && !defined FRAGMENTS
	F("class.functions", zend_class_entry, function_table);
	F("class.aliases", zend_class_entry, trait_aliases);
	F("alias.name", zend_trait_alias, alias);
#endif
	F("property.offset", zend_property_info, offset);
	F("property.flags", zend_property_info, flags);
	F("property.name", zend_property_info, name);
	F("object.handle", zend_object, handle);
	F("object.class", zend_object, ce);
	F("object.dynamic", zend_object, properties);
	F("object.table", zend_object, properties_table);
	F("closure.func", zend_closure, func);
#ifndef NO_GENERATOR
	F("generator.call", zend_generator, execute_data);
	F("generator.fake", zend_generator, execute_fake);
	F("generator.node", zend_generator, node);
#endif
#if VERSION >= 801
	F("fiber.status", zend_fiber, context.status);
	F("fiber.call", zend_fiber, execute_data);
	F("fiber.bottom", zend_fiber, stack_bottom);
#endif
	F("array.flags", zend_array, u);
	F("array.data", zend_array, arData);
	F("array.used", zend_array, nNumUsed);
	F("array.count", zend_array, nNumOfElements);
	printf("array.packed %zu\n", VERSION >= 802 ? sizeof(zval) : sizeof(Bucket));
	F("string.length", zend_string, len);
	F("string.text", zend_string, val);
	F("reference.value", zend_reference, val);
	F("module.api", struct _zend_module_entry, zend_api);
	F("module.debug", struct _zend_module_entry, zend_debug);
	F("module.zts", struct _zend_module_entry, zts);
	F("module.name", struct _zend_module_entry, name);
	F("module.version", struct _zend_module_entry, version);
	F("request.method", struct _sapi_globals_struct, request_info.request_method);
	F("request.query", struct _sapi_globals_struct, request_info.query_string);
	F("request.script", struct _sapi_globals_struct, request_info.path_translated);
	F("request.uri", struct _sapi_globals_struct, request_info.request_uri);
#ifndef FRAGMENTS
	F("error.type", struct _php_core_globals, last_error_type);
	F("error.message", struct _php_core_globals, last_error_message);
	F("error.file", struct _php_core_globals, last_error_file);
	F("error.line", struct _php_core_globals, last_error_lineno);
#endif
	return 0;
}
