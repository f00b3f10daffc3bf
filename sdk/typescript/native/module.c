/* The addon: constants of pawl.h, and its calls. */
#include <stdlib.h>

#include "call.h"

typedef struct constant {
  const char* name;
  int32_t value;
} constant;

#define CONSTANT(name) {#name, PAWL_##name}
static const constant kConstants[] = {
    CONSTANT(OK),
    CONSTANT(INVALID_ARGUMENT),
    CONSTANT(INVALID_STATE),
    CONSTANT(LIMIT_EXCEEDED),
    CONSTANT(NOT_FOUND),
    CONSTANT(ALREADY_EXISTS),
    CONSTANT(CLOSED),
    CONSTANT(TIMED_OUT),
    CONSTANT(BAD_HANDLE),
    CONSTANT(BUSY),
    CONSTANT(INTERNAL),
    CONSTANT(DETERMINISM_VIOLATION),
    CONSTANT(CORRUPT_LOG),
    CONSTANT(MALFORMED_INPUT),
    CONSTANT(STORE_BUSY),
    CONSTANT(STORE_FULL),
    CONSTANT(STORE_IO),
    CONSTANT(STORE_CORRUPT),
    CONSTANT(STORE_UNUSABLE),
    CONSTANT(UNKNOWN_OUTCOME),
    CONSTANT(TASK),
    CONSTANT(OPERATION),
    CONSTANT(TIMER),
    CONSTANT(PROMISE),
    CONSTANT(CHILD),
    CONSTANT(STATE),
    CONSTANT(SIGNAL),
    CONSTANT(BRANCH),
    CONSTANT(LOOP),
    CONSTANT(VERSION_CHECK),
    CONSTANT(COMPENSATION),
    CONSTANT(CANCEL_TASK),
    CONSTANT(CANCEL_TIMER),
    CONSTANT(PENDING),
    CONSTANT(VALUE),
    CONSTANT(FAILED),
    CONSTANT(CANCELLED),
    CONSTANT(TIMEOUT),
    CONSTANT(STRICT),
    CONSTANT(PER_KIND),
    CONSTANT(BY_NAME),
    CONSTANT(AWAIT_ALL),
    CONSTANT(AWAIT_ANY),
    CONSTANT(AWAIT_BLOCKED),
    CONSTANT(AWAIT_READY),
    CONSTANT(AWAIT_CANCELLED),
    CONSTANT(END_COMPLETED),
    CONSTANT(END_FAILED),
    CONSTANT(END_CANCELLED),
    CONSTANT(END_RECURRED),
    CONSTANT(RUN_RUNNING),
    CONSTANT(RUN_WAITING),
    CONSTANT(RUN_COMPENSATING),
    CONSTANT(RUN_COMPLETED),
    CONSTANT(RUN_FAILED),
    CONSTANT(RUN_CANCELLED),
    CONSTANT(RUN_RECURRED),
    CONSTANT(RUN_BLOCKED),
    CONSTANT(EXISTING_RETURN),
    CONSTANT(EXISTING_FAIL),
    CONSTANT(EXISTING_REPLACE),
    CONSTANT(ON_CHANGE_VERIFY),
    CONSTANT(ON_CHANGE_REFUSE),
    CONSTANT(PARENT_CLOSE_CANCEL),
    CONSTANT(PARENT_CLOSE_ABANDON),
    CONSTANT(PARENT_CLOSE_TERMINATE),
    CONSTANT(EVENT_ACTIVATION),
    CONSTANT(EVENT_OPERATION),
    CONSTANT(EVENT_TASK),
    CONSTANT(EVENT_FORGET),
    CONSTANT(EVENT_REPLY),
    CONSTANT(EVENT_TROUBLE),
};

/* ((status, message, violation) => Error): what calls throw. */
static napi_value set_errors(napi_env env, napi_callback_info info) {
  call it;
  call_begin(&it, env, info);
  if (it.self->make_error != NULL) {
    napi_delete_reference(env, it.self->make_error);
  }
  napi_create_reference(env, it.at[0], 1, &it.self->make_error);
  return call_end(&it, PAWL_OK, undefined_value(env));
}

static napi_value version(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value text;
  napi_create_string_utf8(env, pawl_version(), NAPI_AUTO_LENGTH, &text);
  return text;
}

static void forget_instance(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  free(data);
}

NAPI_MODULE_INIT() {
  enum { kRegisters = 4 };
  if (pawl_abi_version() != PAWL_ABI_VERSION) {
    napi_throw_error(env, NULL, "pawl: libpawl.so has another ABI version than this package");
    return NULL;
  }
  instance* const self = calloc(1, sizeof *self);
  napi_value buffer;
  napi_value registers;
  napi_create_arraybuffer(env, kRegisters * sizeof(uint32_t), (void**)&self->registers, &buffer);
  napi_create_typedarray(env, napi_uint32_array, kRegisters, buffer, 0, &registers);
  napi_set_instance_data(env, self, forget_instance, NULL);
  /* Exports are kept as long as the addon is, and with them the memory of the registers. */
  napi_set_named_property(env, exports, "registers", registers);

  napi_value constants;
  napi_create_object(env, &constants);
  for (size_t i = 0; i < sizeof kConstants / sizeof *kConstants; ++i) {
    napi_set_named_property(env, constants, kConstants[i].name,
                            number_value(env, kConstants[i].value));
  }
  napi_set_named_property(env, exports, "constants", constants);
  add_function(env, exports, "setErrors", set_errors);
  add_function(env, exports, "version", version);
  add_contexts(env, exports);
  add_engines(env, exports);
  add_clients(env, exports);
  return exports;
}
