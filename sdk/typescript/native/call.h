/* One call from JavaScript: its arguments, and what it comes to. Texts that are read live until
 * call_end(), which every function must reach. */
#ifndef PAWL_NODE_CALL_H
#define PAWL_NODE_CALL_H

#include <node_api.h>
#include <stdbool.h>

#include "pawl.h"

enum { ARGUMENTS_MAX = 16, TEXTS_MAX = 16 };

/* What an instance of the addon keeps. */
typedef struct instance {
  napi_ref make_error; /* (status, message, violation) => Error */
  uint32_t* registers; /* Small answers, without objects: a Uint32Array of JavaScript's. */
} instance;

typedef struct call {
  napi_env env;
  instance* self;
  napi_value at[ARGUMENTS_MAX];
  char* texts[TEXTS_MAX]; /* To be freed. */
  size_t text_count;
  const char* wrong; /* The first argument that cannot be used. */
} call;

void call_begin(call* it, napi_env env, napi_callback_info info);
/* Throws if the call failed. */
napi_value call_end(call* it, pawl_status status, napi_value result);
/* The same; after a violation, the error has its fields. */
napi_value call_end_context(call* it, pawl_status status, pawl_context context, napi_value result);

/* Only if all arguments could be read. */
#define DO(it, call_of_pawl) ((it).wrong != NULL ? PAWL_INVALID_ARGUMENT : (call_of_pawl))

/* undefined and null are empty, 0, false. */
bool is_given(call* it, size_t index);
pawl_bytes text_at(call* it, size_t index);
pawl_bytes text_of(call* it, napi_value value);
double number_at(call* it, size_t index);
int32_t int_at(call* it, size_t index);
uint32_t uint_at(call* it, size_t index);
int64_t long_at(call* it, size_t index);
uint64_t handle_at(call* it, size_t index);
#define context_at(it, index) ((pawl_context)handle_at(it, index))
#define engine_at(it, index) ((pawl_engine)handle_at(it, index))
/* [attempts, initial, maximum, factor, jitter, final types, a line each]; NULL if not given. */
const pawl_retry* retry_at(call* it, size_t index, pawl_retry* retry);

napi_value undefined_value(napi_env env);
napi_value text_value(napi_env env, pawl_bytes text);
napi_value number_value(napi_env env, double number);
napi_value handle_value(napi_env env, uint64_t handle);
napi_value bool_value(napi_env env, bool value);
/* Frees the buffer. */
napi_value buffer_value(napi_env env, pawl_status status, pawl_buffer buffer);

void add_function(napi_env env, napi_value exports, const char* name, napi_callback function);
void add_contexts(napi_env env, napi_value exports);
void add_engines(napi_env env, napi_value exports);
void add_clients(napi_env env, napi_value exports);

#endif
