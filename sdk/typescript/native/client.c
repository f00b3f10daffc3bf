/* Clients' calls: each is given a tag, and answered by an event. */
#include <string.h>

#include "call.h"

#define FUNCTION(name) static napi_value name(napi_env env, napi_callback_info info)
#define BEGIN                                   \
  call it;                                      \
  call_begin(&it, env, info);                   \
  const pawl_engine engine = engine_at(&it, 0); \
  const uint64_t tag = (uint64_t)long_at(&it, 1)
#define END(call_of_pawl) return call_end(&it, DO(it, call_of_pawl), undefined_value(env))

/* (engine, tag, kind, id, input, on existing, tags, signal, signal payload, signal event) */
FUNCTION(client_start) {
  BEGIN;
  pawl_start_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.kind = text_at(&it, 2);
  options.id = text_at(&it, 3);
  options.input = text_at(&it, 4);
  options.on_existing = int_at(&it, 5);
  options.tags = text_at(&it, 6);
  options.signal = text_at(&it, 7);
  options.signal_payload = text_at(&it, 8);
  options.signal_event = text_at(&it, 9);
  END(pawl_client_start(engine, &options, tag, NULL));
}

/* (engine, tag, run) */
FUNCTION(client_result) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  END(pawl_client_result(engine, run, -1, tag, NULL));
}

/* (engine, tag, run, signal, payload, event) */
FUNCTION(client_signal) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  const pawl_bytes signal = text_at(&it, 3);
  const pawl_bytes payload = text_at(&it, 4);
  const pawl_bytes event = text_at(&it, 5);
  END(pawl_client_signal(engine, run, signal, payload, event, tag, NULL));
}

/* (engine, tag, run, promise, payload) */
FUNCTION(client_resolve) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  const pawl_bytes promise = text_at(&it, 3);
  const pawl_bytes payload = text_at(&it, 4);
  END(pawl_client_resolve(engine, run, promise, payload, tag, NULL));
}

/* (engine, tag, run, promise, type, message, details) */
FUNCTION(client_reject) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  const pawl_bytes promise = text_at(&it, 3);
  pawl_failure failure;
  memset(&failure, 0, sizeof failure);
  failure.size = sizeof failure;
  failure.type = text_at(&it, 4);
  failure.message = text_at(&it, 5);
  failure.details = text_at(&it, 6);
  END(pawl_client_reject(engine, run, promise, &failure, tag, NULL));
}

/* (engine, tag, run, reason) */
FUNCTION(client_cancel) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  const pawl_bytes reason = text_at(&it, 3);
  END(pawl_client_cancel(engine, run, reason, tag, NULL));
}

/* (engine, tag, run, reason) */
FUNCTION(client_terminate) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  const pawl_bytes reason = text_at(&it, 3);
  END(pawl_client_terminate(engine, run, reason, tag, NULL));
}

/* (engine, tag, run, is paused) */
FUNCTION(client_pause) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  const int32_t is_paused = int_at(&it, 3);
  END(pawl_client_pause(engine, run, is_paused, tag, NULL));
}

/* (engine, tag, run) */
FUNCTION(client_resume) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  END(pawl_client_resume(engine, run, tag, NULL));
}

/* (engine, tag, run) */
FUNCTION(client_describe) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  END(pawl_client_describe(engine, run, tag, NULL));
}

/* (engine, tag, query) */
FUNCTION(client_list) {
  BEGIN;
  const pawl_bytes query = text_at(&it, 2);
  END(pawl_client_list(engine, query, tag, NULL));
}

/* (engine, tag, run) */
FUNCTION(client_history) {
  BEGIN;
  const pawl_bytes run = text_at(&it, 2);
  END(pawl_client_history(engine, run, tag, NULL));
}

/* (engine, tag, duration) */
FUNCTION(test_advance) {
  BEGIN;
  const int64_t duration = long_at(&it, 2);
  END(pawl_test_advance(engine, duration, tag, NULL));
}

/* (engine) => milliseconds */
FUNCTION(test_now) {
  call it;
  call_begin(&it, env, info);
  const pawl_engine engine = engine_at(&it, 0);
  int64_t now = 0;
  const pawl_status status = DO(it, pawl_test_now(engine, &now));
  return call_end(&it, status, number_value(env, (double)now));
}

/* (run, promise) => token */
FUNCTION(promise_token) {
  call it;
  call_begin(&it, env, info);
  const pawl_bytes run = text_at(&it, 0);
  const pawl_bytes promise = text_at(&it, 1);
  pawl_buffer token = NULL;
  const pawl_status status = DO(it, pawl_promise_token(run, promise, &token));
  return call_end(&it, status, buffer_value(env, status, token));
}

/* (token) => [run, promise] */
FUNCTION(token_parts) {
  call it;
  call_begin(&it, env, info);
  const pawl_bytes token = text_at(&it, 0);
  pawl_buffer run = NULL;
  pawl_buffer promise = NULL;
  const pawl_status status = DO(it, pawl_promise_token_parts(token, &run, &promise));
  napi_value parts;
  napi_create_array_with_length(env, 2, &parts);
  napi_set_element(env, parts, 0, buffer_value(env, status, run));
  napi_set_element(env, parts, 1, buffer_value(env, status, promise));
  return call_end(&it, status, parts);
}

void add_clients(napi_env env, napi_value exports) {
  add_function(env, exports, "clientStart", client_start);
  add_function(env, exports, "clientResult", client_result);
  add_function(env, exports, "clientSignal", client_signal);
  add_function(env, exports, "clientResolve", client_resolve);
  add_function(env, exports, "clientReject", client_reject);
  add_function(env, exports, "clientCancel", client_cancel);
  add_function(env, exports, "clientTerminate", client_terminate);
  add_function(env, exports, "clientPause", client_pause);
  add_function(env, exports, "clientResume", client_resume);
  add_function(env, exports, "clientDescribe", client_describe);
  add_function(env, exports, "clientList", client_list);
  add_function(env, exports, "clientHistory", client_history);
  add_function(env, exports, "testAdvance", test_advance);
  add_function(env, exports, "testNow", test_now);
  add_function(env, exports, "promiseToken", promise_token);
  add_function(env, exports, "tokenParts", token_parts);
}
