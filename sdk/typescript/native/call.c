#include "call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void call_begin(call* it, napi_env env, napi_callback_info info) {
  size_t count = ARGUMENTS_MAX;
  it->env = env;
  it->text_count = 0;
  it->wrong = NULL;
  napi_get_instance_data(env, (void**)&it->self);
  /* Those that are missing become undefined. */
  napi_get_cb_info(env, info, &count, it->at, NULL, NULL);
}

static void add_text(napi_env env, napi_value object, const char* name, pawl_bytes text) {
  napi_set_named_property(env, object, name, text_value(env, text));
}

static napi_value violation_value(napi_env env, pawl_context context) {
  pawl_violation found;
  memset(&found, 0, sizeof found);
  found.size = sizeof found;
  if (context == NULL || pawl_context_violation(context, &found) != PAWL_OK || !found.is_there) {
    return undefined_value(env);
  }
  napi_value object;
  napi_create_object(env, &object);
  add_text(env, object, "code", found.code);
  add_text(env, object, "headline", found.headline);
  add_text(env, object, "runId", found.run_id);
  add_text(env, object, "location", found.location);
  add_text(env, object, "label", found.label);
  add_text(env, object, "recorded", found.recorded);
  add_text(env, object, "asked", found.asked);
  add_text(env, object, "sourceNow", found.source_now);
  add_text(env, object, "sourceThen", found.source_then);
  add_text(env, object, "lastAgreed", found.last_agreed);
  add_text(env, object, "definitionThen", found.definition_then);
  add_text(env, object, "definitionNow", found.definition_now);
  add_text(env, object, "advice", found.advice);
  add_text(env, object, "text", found.text);
  return object;
}

static void throw_error(call* it, pawl_status status, pawl_bytes message, pawl_context context) {
  napi_value make_error = NULL;
  napi_value error = NULL;
  napi_value arguments[3];
  arguments[0] = number_value(it->env, status);
  arguments[1] = text_value(it->env, message); /* Before the next call of the library. */
  arguments[2] = status == PAWL_DETERMINISM_VIOLATION ? violation_value(it->env, context)
                                                      : undefined_value(it->env);
  if (it->self->make_error != NULL) {
    napi_get_reference_value(it->env, it->self->make_error, &make_error);
  }
  if (make_error != NULL && napi_call_function(it->env, undefined_value(it->env), make_error, 3,
                                               arguments, &error) == napi_ok) {
    napi_throw(it->env, error);
  } else {
    napi_throw_error(it->env, pawl_status_name(status), "pawl: a call failed");
  }
}

napi_value call_end_context(call* it, pawl_status status, pawl_context context, napi_value result) {
  if (it->wrong != NULL) {
    const pawl_bytes message = {it->wrong, strlen(it->wrong)};
    throw_error(it, PAWL_INVALID_ARGUMENT, message, NULL);
  } else if (status != PAWL_OK) {
    throw_error(it, status, pawl_last_error(), context);
  }
  for (size_t i = 0; i < it->text_count; ++i) {
    free(it->texts[i]);
  }
  return it->wrong != NULL || status != PAWL_OK ? NULL : result;
}

napi_value call_end(call* it, pawl_status status, napi_value result) {
  return call_end_context(it, status, NULL, result);
}

/* --- Arguments ---------------------------------------------------------------------------------
 */

static napi_valuetype type_of(call* it, napi_value value) {
  napi_valuetype type = napi_undefined;
  napi_typeof(it->env, value, &type);
  return type;
}

bool is_given(call* it, size_t index) {
  const napi_valuetype type = type_of(it, it->at[index]);
  return type != napi_undefined && type != napi_null;
}

static void set_wrong(call* it, const char* what) {
  if (it->wrong == NULL) {
    it->wrong = what;
  }
}

pawl_bytes text_of(call* it, napi_value value) {
  pawl_bytes text = {NULL, 0};
  size_t size = 0;
  if (napi_get_value_string_utf8(it->env, value, NULL, 0, &size) != napi_ok) {
    const napi_valuetype type = type_of(it, value);
    if (type != napi_undefined && type != napi_null) {
      set_wrong(it, "an argument that should be a string is none");
    }
    return text;
  }
  char* const copy = it->text_count < TEXTS_MAX ? malloc(size + 1) : NULL;
  if (copy == NULL) {
    set_wrong(it, "out of memory");
    return text;
  }
  napi_get_value_string_utf8(it->env, value, copy, size + 1, &size);
  it->texts[it->text_count++] = copy;
  text.data = copy;
  text.size = size;
  return text;
}

pawl_bytes text_at(call* it, size_t index) { return text_of(it, it->at[index]); }

double number_at(call* it, size_t index) {
  double number = 0;
  if (napi_get_value_double(it->env, it->at[index], &number) == napi_ok) {
    return number;
  }
  bool truth = false;
  if (napi_get_value_bool(it->env, it->at[index], &truth) == napi_ok) {
    return truth ? 1 : 0;
  }
  if (is_given(it, index)) {
    set_wrong(it, "an argument that should be a number is none");
  }
  return 0;
}

static double whole_at(call* it, size_t index, double low, double high) {
  const double number = number_at(it, index);
  if (!(number >= low && number <= high) || floor(number) != number) {
    set_wrong(it, "a number is not whole, or out of range");
    return 0;
  }
  return number;
}

int32_t int_at(call* it, size_t index) {
  return (int32_t)whole_at(it, index, INT32_MIN, INT32_MAX);
}
uint32_t uint_at(call* it, size_t index) { return (uint32_t)whole_at(it, index, 0, UINT32_MAX); }
int64_t long_at(call* it, size_t index) {
  return (int64_t)whole_at(it, index, -9007199254740992.0, 9007199254740992.0);
}

uint64_t handle_at(call* it, size_t index) {
  uint64_t handle = 0;
  bool is_exact = false;
  if (napi_get_value_bigint_uint64(it->env, it->at[index], &handle, &is_exact) != napi_ok ||
      !is_exact) {
    set_wrong(it, "an argument that should be a handle is none");
    return 0;
  }
  return handle;
}

const pawl_retry* retry_at(call* it, size_t index, pawl_retry* retry) {
  if (!is_given(it, index)) {
    return NULL;
  }
  call inner = *it;
  inner.text_count = 0;
  for (uint32_t i = 0; i < 6; ++i) {
    napi_get_element(it->env, it->at[index], i, &inner.at[i]);
  }
  memset(retry, 0, sizeof *retry);
  retry->size = sizeof *retry;
  retry->attempts = uint_at(&inner, 0);
  retry->initial_ms = long_at(&inner, 1);
  retry->maximum_ms = long_at(&inner, 2);
  retry->factor = number_at(&inner, 3);
  retry->jitter = number_at(&inner, 4);
  it->wrong = inner.wrong;
  retry->final_types = text_of(it, inner.at[5]);
  return retry;
}

/* --- Values ------------------------------------------------------------------------------------
 */

napi_value undefined_value(napi_env env) {
  napi_value value = NULL;
  napi_get_undefined(env, &value);
  return value;
}

napi_value text_value(napi_env env, pawl_bytes text) {
  napi_value value = NULL;
  napi_create_string_utf8(env, text.size == 0 ? "" : text.data, text.size, &value);
  return value;
}

napi_value number_value(napi_env env, double number) {
  napi_value value = NULL;
  napi_create_double(env, number, &value);
  return value;
}

napi_value handle_value(napi_env env, uint64_t handle) {
  napi_value value = NULL;
  napi_create_bigint_uint64(env, handle, &value);
  return value;
}

napi_value bool_value(napi_env env, bool truth) {
  napi_value value = NULL;
  napi_get_boolean(env, truth, &value);
  return value;
}

napi_value buffer_value(napi_env env, pawl_status status, pawl_buffer buffer) {
  pawl_bytes data = {NULL, 0};
  if (status != PAWL_OK || pawl_buffer_data(buffer, &data) != PAWL_OK) {
    return undefined_value(env);
  }
  const napi_value value = text_value(env, data);
  pawl_buffer_free(buffer);
  return value;
}

void add_function(napi_env env, napi_value exports, const char* name, napi_callback function) {
  napi_value value;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, function, NULL, &value);
  napi_set_named_property(env, exports, name, value);
}
