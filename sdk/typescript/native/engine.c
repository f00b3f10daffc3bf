/* Engines: opening, working, attempts; and the thread that waits for events. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

#define FUNCTION(name) static napi_value name(napi_env env, napi_callback_info info)
#define BEGIN \
  call it;    \
  call_begin(&it, env, info)

/* (url, worker name, lease, cache bytes, payload bytes max, queues, is test, replay every turn)
 * => engine */
FUNCTION(engine_open) {
  BEGIN;
  pawl_engine_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.url = text_at(&it, 0);
  options.worker_name = text_at(&it, 1);
  options.lease_ms = long_at(&it, 2);
  options.cache_bytes = (uint64_t)long_at(&it, 3);
  options.payload_bytes_max = (uint64_t)long_at(&it, 4);
  options.queues = text_at(&it, 5);
  options.is_test = int_at(&it, 6);
  options.replay_every_turn = int_at(&it, 7);
  pawl_engine engine = NULL;
  const pawl_status status = DO(it, pawl_engine_open(&options, &engine));
  return call_end(&it, status, handle_value(env, (uint64_t)engine));
}

/* (engine, kind, matching, fingerprint, on change) */
FUNCTION(add_workflow) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  pawl_workflow_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.kind = text_at(&it, 1);
  options.matching = int_at(&it, 2);
  options.fingerprint = text_at(&it, 3);
  options.on_change = int_at(&it, 4);
  const pawl_status status = DO(it, pawl_engine_add_workflow(engine, &options));
  return call_end(&it, status, undefined_value(env));
}

/* (engine, name, compensation retry) */
FUNCTION(add_activity) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  const pawl_bytes name = text_at(&it, 1);
  pawl_retry space;
  const pawl_retry* const retry = retry_at(&it, 2, &space);
  const pawl_status status = DO(it, pawl_engine_add_activity(engine, name, retry));
  return call_end(&it, status, undefined_value(env));
}

FUNCTION(engine_start) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  return call_end(&it, DO(it, pawl_engine_start(engine)), undefined_value(env));
}

/* --- Stopping: it blocks until done, so not on JavaScript's thread ------------------------------
 */

typedef struct stopping {
  pawl_engine engine;
  napi_deferred deferred;
  napi_async_work work;
} stopping;

static void do_stop(napi_env env, void* data) {
  (void)env;
  pawl_engine_stop(((stopping*)data)->engine);
}

static void after_stop(napi_env env, napi_status status, void* data) {
  (void)status;
  stopping* const it = data;
  napi_resolve_deferred(env, it->deferred, undefined_value(env));
  napi_delete_async_work(env, it->work);
  free(it);
}

/* (engine) => promise */
FUNCTION(engine_stop) {
  BEGIN;
  napi_value promise = NULL;
  napi_value name;
  stopping* const data = calloc(1, sizeof *data);
  data->engine = engine_at(&it, 0);
  napi_create_promise(env, &data->deferred, &promise);
  napi_create_string_utf8(env, "pawl stop", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, do_stop, after_stop, data, &data->work);
  napi_queue_async_work(env, data->work);
  return call_end(&it, PAWL_OK, promise);
}

FUNCTION(engine_free) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  return call_end(&it, DO(it, pawl_engine_free(engine)), undefined_value(env));
}

/* --- Events ------------------------------------------------------------------------------------
 */

enum { BATCH_MAX = 256 };

typedef struct poller {
  pawl_engine engine;
  napi_threadsafe_function tell;
  pthread_t thread;
  bool is_running; /* The thread, and with it `tell`. */
  int references;  /* JavaScript's, and that of `tell`. */
} poller;

static void release_poller(poller* it) {
  if (--it->references == 0) {
    free(it);
  }
}

static void* poll_events(void* data) {
  poller* const it = data;
  while (true) {
    pawl_events* const events = calloc(1, sizeof *events);
    const uint32_t kinds = PAWL_EVENT_ACTIVATION | PAWL_EVENT_OPERATION | PAWL_EVENT_TASK |
                           PAWL_EVENT_FORGET | PAWL_EVENT_REPLY | PAWL_EVENT_TROUBLE;
    if (events == NULL || pawl_engine_poll(it->engine, kinds, BATCH_MAX, -1, events) != PAWL_OK) {
      free(events);
      break;
    }
    /* Waits while an earlier batch is on its way: meanwhile the next one grows. */
    if (napi_call_threadsafe_function(it->tell, events, napi_tsfn_blocking) != napi_ok) {
      pawl_events_free(events->list);
      free(events);
      return NULL; /* JavaScript has ended. */
    }
  }
  napi_call_threadsafe_function(it->tell, NULL, napi_tsfn_blocking);
  napi_release_threadsafe_function(it->tell, napi_tsfn_release);
  return NULL;
}

static void put(napi_env env, napi_value list, uint32_t* next, napi_value value) {
  napi_set_element(env, list, (*next)++, value);
}

/* All events, one behind the other in one list; each kind has its own number of fields. */
static napi_value list_value(napi_env env, const pawl_events* events) {
  napi_value list;
  uint32_t next = 0;
  napi_create_array(env, &list);
  for (size_t i = 0; i < events->count; ++i) {
    const pawl_event* const event =
        (const pawl_event*)((const char*)events->first + i * events->stride);
    put(env, list, &next, number_value(env, event->kind));
    switch (event->kind) {
      case PAWL_EVENT_ACTIVATION:
        put(env, list, &next, handle_value(env, (uint64_t)event->context));
        put(env, list, &next, bool_value(env, event->is_new));
        put(env, list, &next, number_value(env, event->number));
        /* Only the first time somebody wants to know. */
        put(env, list, &next,
            event->is_new ? text_value(env, event->run_id) : undefined_value(env));
        put(env, list, &next,
            event->is_new ? text_value(env, event->run_uuid) : undefined_value(env));
        put(env, list, &next, event->is_new ? text_value(env, event->name) : undefined_value(env));
        put(env, list, &next,
            event->is_new ? text_value(env, event->payload) : undefined_value(env));
        break;
      case PAWL_EVENT_OPERATION:
        put(env, list, &next, handle_value(env, (uint64_t)event->context));
        put(env, list, &next, number_value(env, event->future));
        put(env, list, &next, handle_value(env, event->attempt));
        put(env, list, &next, number_value(env, event->number));
        put(env, list, &next, text_value(env, event->key));
        break;
      case PAWL_EVENT_TASK:
        put(env, list, &next, handle_value(env, event->attempt));
        put(env, list, &next, number_value(env, event->number));
        put(env, list, &next, text_value(env, event->run_id));
        put(env, list, &next, text_value(env, event->name));
        put(env, list, &next, text_value(env, event->payload));
        put(env, list, &next, text_value(env, event->key));
        put(env, list, &next, text_value(env, event->details));
        break;
      case PAWL_EVENT_FORGET:
        put(env, list, &next, handle_value(env, (uint64_t)event->context));
        break;
      case PAWL_EVENT_REPLY:
        put(env, list, &next, number_value(env, (double)event->attempt));
        put(env, list, &next, number_value(env, event->status));
        put(env, list, &next, text_value(env, event->payload));
        put(env, list, &next, number_value(env, event->run_status));
        put(env, list, &next, bool_value(env, event->flag));
        break;
      default: /* PAWL_EVENT_TROUBLE */
        put(env, list, &next, text_value(env, event->payload));
        break;
    }
  }
  return list;
}

/* On JavaScript's thread. `data` NULL: the last call. */
static void tell_events(napi_env env, napi_value callback, void* context, void* data) {
  (void)context;
  pawl_events* const events = data;
  if (env != NULL) {
    napi_value list = undefined_value(env);
    if (events != NULL) {
      list = list_value(env, events);
      pawl_events_free(events->list);
    }
    napi_value ignored;
    napi_call_function(env, undefined_value(env), callback, 1, &list, &ignored);
  } else if (events != NULL) {
    pawl_events_free(events->list);
  }
  free(events);
}

static void after_polling(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  poller* const it = data;
  it->is_running = false;
  pawl_engine_stop(it->engine); /* If the process ends without: the thread may still wait. */
  pthread_join(it->thread, NULL);
  release_poller(it);
}

static void forget_poller(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  release_poller(data);
}

/* (engine, (list or undefined: no more) => void) => poller */
FUNCTION(poll) {
  BEGIN;
  napi_value name;
  napi_value handle = NULL;
  poller* const data = calloc(1, sizeof *data);
  data->engine = engine_at(&it, 0);
  data->references = 2;
  data->is_running = true;
  napi_create_string_utf8(env, "pawl events", NAPI_AUTO_LENGTH, &name);
  if (napi_create_threadsafe_function(env, it.at[1], NULL, name, 1, 1, data, after_polling, NULL,
                                      tell_events, &data->tell) != napi_ok) {
    free(data);
    napi_throw_type_error(env, NULL, "pawl: poll takes an engine and a function");
    return NULL;
  }
  napi_create_external(env, data, forget_poller, NULL, &handle);
  pthread_create(&data->thread, NULL, poll_events, data);
  return call_end(&it, PAWL_OK, handle);
}

/* (poller, keeps the process alive) */
FUNCTION(hold) {
  BEGIN;
  poller* data = NULL;
  if (napi_get_value_external(env, it.at[0], (void**)&data) == napi_ok && data->is_running) {
    if (int_at(&it, 1)) {
      napi_ref_threadsafe_function(env, data->tell);
    } else {
      napi_unref_threadsafe_function(env, data->tell);
    }
  }
  return call_end(&it, PAWL_OK, undefined_value(env));
}

/* --- Attempts ----------------------------------------------------------------------------------
 */

/* (engine, attempt, result) */
FUNCTION(attempt_complete) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  const uint64_t attempt = handle_at(&it, 1);
  const pawl_bytes result = text_at(&it, 2);
  const pawl_status status = DO(it, pawl_attempt_complete(engine, attempt, result));
  return call_end(&it, status, undefined_value(env));
}

/* (engine, attempt, type, message, details, is final, is cancelled, next delay or undefined) */
FUNCTION(attempt_fail) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  const uint64_t attempt = handle_at(&it, 1);
  pawl_failure failure;
  memset(&failure, 0, sizeof failure);
  failure.size = sizeof failure;
  failure.type = text_at(&it, 2);
  failure.message = text_at(&it, 3);
  failure.details = text_at(&it, 4);
  failure.is_final = int_at(&it, 5);
  failure.is_cancelled = int_at(&it, 6);
  failure.has_next_delay = is_given(&it, 7);
  failure.next_delay_ms = long_at(&it, 7);
  const pawl_status status = DO(it, pawl_attempt_fail(engine, attempt, &failure));
  return call_end(&it, status, undefined_value(env));
}

/* (engine, attempt, details) => should stop */
FUNCTION(attempt_heartbeat) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  const uint64_t attempt = handle_at(&it, 1);
  const pawl_bytes details = text_at(&it, 2);
  int32_t should_stop = 0;
  const pawl_status status = DO(it, pawl_attempt_heartbeat(engine, attempt, details, &should_stop));
  return call_end(&it, status, bool_value(env, should_stop));
}

/* (engine, attempt) => should stop */
FUNCTION(attempt_should_stop) {
  BEGIN;
  const pawl_engine engine = engine_at(&it, 0);
  const uint64_t attempt = handle_at(&it, 1);
  int32_t should_stop = 0;
  const pawl_status status = DO(it, pawl_attempt_should_stop(engine, attempt, &should_stop));
  return call_end(&it, status, bool_value(env, should_stop));
}

void add_engines(napi_env env, napi_value exports) {
  add_function(env, exports, "engineOpen", engine_open);
  add_function(env, exports, "addWorkflow", add_workflow);
  add_function(env, exports, "addActivity", add_activity);
  add_function(env, exports, "engineStart", engine_start);
  add_function(env, exports, "engineStop", engine_stop);
  add_function(env, exports, "engineFree", engine_free);
  add_function(env, exports, "poll", poll);
  add_function(env, exports, "hold", hold);
  add_function(env, exports, "attemptComplete", attempt_complete);
  add_function(env, exports, "attemptFail", attempt_fail);
  add_function(env, exports, "attemptHeartbeat", attempt_heartbeat);
  add_function(env, exports, "attemptShouldStop", attempt_should_stop);
}
