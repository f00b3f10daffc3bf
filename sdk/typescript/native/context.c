/* Contexts: one run being replayed and carried on. */
#include <stdlib.h>
#include <string.h>

#include "call.h"

#define FUNCTION(name) static napi_value name(napi_env env, napi_callback_info info)
#define BEGIN \
  call it;    \
  call_begin(&it, env, info)

static const pawl_bytes kNothing = {NULL, 0};

/* A call without an answer, about a branch or loop of a context. */
#define PLAIN(name, call_of_pawl)                                        \
  FUNCTION(name) {                                                       \
    BEGIN;                                                               \
    const pawl_context context = context_at(&it, 0);                     \
    const uint32_t number = uint_at(&it, 1);                             \
    const pawl_status status = DO(it, call_of_pawl);                     \
    return call_end_context(&it, status, context, undefined_value(env)); \
  }

/* --- Life --------------------------------------------------------------------------------------
 */

/* (run id, matching, started at, history, definition then, definition now) => context */
FUNCTION(create) {
  BEGIN;
  pawl_context_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.run_id = text_at(&it, 0);
  options.matching = int_at(&it, 1);
  options.started_at_ms = long_at(&it, 2);
  options.history = text_at(&it, 3);
  options.definition_then = text_at(&it, 4);
  options.definition_now = text_at(&it, 5);
  pawl_context context = NULL;
  const pawl_status status = DO(it, pawl_context_create(&options, &context));
  return call_end(&it, status, handle_value(env, (uint64_t)context));
}

FUNCTION(free_context) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  return call_end(&it, DO(it, pawl_context_free(context)), undefined_value(env));
}

FUNCTION(set_time) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const int64_t now = long_at(&it, 1);
  return call_end(&it, DO(it, pawl_context_set_time(context, now)), undefined_value(env));
}

FUNCTION(yield) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  return call_end(&it, DO(it, pawl_context_yield(context)), undefined_value(env));
}

/* --- Commands ----------------------------------------------------------------------------------
 */

/* (context, kind, branch, name, payload, step key, version, source, number, extra, child kind,
 * target, clear, checkpoint every); registers: future, branch, must execute. */
FUNCTION(open) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  pawl_command command;
  memset(&command, 0, sizeof command);
  command.size = sizeof command;
  command.kind = int_at(&it, 1);
  command.branch = uint_at(&it, 2);
  command.name = text_at(&it, 3);
  command.has_payload = is_given(&it, 4);
  command.payload = text_at(&it, 4);
  command.step_key = text_at(&it, 5);
  command.version = uint_at(&it, 6);
  command.source = text_at(&it, 7);
  command.number = long_at(&it, 8);
  command.extra = text_at(&it, 9);
  command.child_kind = text_at(&it, 10);
  command.target = uint_at(&it, 11);
  command.clear = int_at(&it, 12);
  command.checkpoint_every = uint_at(&it, 13);
  pawl_opened opened = {0, 0, 0};
  const pawl_status status = DO(it, pawl_context_open(context, &command, &opened));
  it.self->registers[0] = opened.future;
  it.self->registers[1] = opened.branch;
  it.self->registers[2] = (uint32_t)opened.must_execute;
  return call_end_context(&it, status, context, undefined_value(env));
}

/* (context, kind, branch, name, step key, version, source) */
FUNCTION(removed) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  pawl_command step;
  memset(&step, 0, sizeof step);
  step.size = sizeof step;
  step.kind = int_at(&it, 1);
  step.branch = uint_at(&it, 2);
  step.name = text_at(&it, 3);
  step.step_key = text_at(&it, 4);
  step.version = uint_at(&it, 5);
  step.source = text_at(&it, 6);
  const pawl_status status = DO(it, pawl_context_removed(context, &step));
  return call_end_context(&it, status, context, undefined_value(env));
}

/* (context, branch, latest, source) => version */
FUNCTION(check_version) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch branch = uint_at(&it, 1);
  const uint32_t latest = uint_at(&it, 2);
  const pawl_bytes source = text_at(&it, 3);
  uint32_t version = 0;
  const pawl_status status =
      DO(it, pawl_context_check_version(context, branch, latest, source, &version));
  return call_end_context(&it, status, context, number_value(env, version));
}

/* (context, operation, outcome, payload) */
FUNCTION(complete) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_future operation = uint_at(&it, 1);
  const int32_t outcome = int_at(&it, 2);
  const pawl_bytes payload = text_at(&it, 3);
  const pawl_status status = DO(it, pawl_context_complete(context, operation, outcome, payload));
  return call_end_context(&it, status, context, undefined_value(env));
}

/* (context, operation, retry, timeout) */
FUNCTION(execute) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_future operation = uint_at(&it, 1);
  pawl_retry space;
  const pawl_retry* const retry = retry_at(&it, 2, &space);
  const int64_t timeout = long_at(&it, 3);
  const pawl_status status = DO(it, pawl_context_execute(context, operation, retry, timeout));
  return call_end_context(&it, status, context, undefined_value(env));
}

/* (context, operation, run id, signal, payload, extra, dedupe) */
FUNCTION(send) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_future operation = uint_at(&it, 1);
  const pawl_bytes run_id = text_at(&it, 2);
  const pawl_bytes signal = text_at(&it, 3);
  const pawl_bytes payload = text_at(&it, 4);
  const pawl_bytes extra = text_at(&it, 5);
  const pawl_bytes dedupe = text_at(&it, 6);
  const pawl_status status =
      DO(it, pawl_context_send(context, operation, run_id, signal, payload, extra, dedupe));
  return call_end_context(&it, status, context, undefined_value(env));
}

/* (queue, priority, wait, attempt, total, heartbeat, retry) => extra */
FUNCTION(task_extra) {
  BEGIN;
  pawl_task_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.queue = text_at(&it, 0);
  options.priority = int_at(&it, 1);
  options.wait_timeout_ms = long_at(&it, 2);
  options.attempt_timeout_ms = long_at(&it, 3);
  options.total_timeout_ms = long_at(&it, 4);
  options.heartbeat_timeout_ms = long_at(&it, 5);
  pawl_retry space;
  options.retry = retry_at(&it, 6, &space);
  pawl_buffer extra = NULL;
  const pawl_status status = DO(it, pawl_task_extra(&options, &extra));
  return call_end(&it, status, buffer_value(env, status, extra));
}

/* (parent close, tags) => extra */
FUNCTION(child_extra) {
  BEGIN;
  const int32_t parent_close = int_at(&it, 0);
  const pawl_bytes tags = text_at(&it, 1);
  pawl_buffer extra = NULL;
  const pawl_status status = DO(it, pawl_child_extra(parent_close, tags, &extra));
  return call_end(&it, status, buffer_value(env, status, extra));
}

/* --- Structure ---------------------------------------------------------------------------------
 */

PLAIN(close_branch, pawl_context_close_branch(context, number))
PLAIN(abandon_loop, pawl_context_abandon_loop(context, number))

/* (context, loop) => [finished, state, is done, result] */
FUNCTION(loop_position) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch loop = uint_at(&it, 1);
  pawl_loop_position position = {0, kNothing, 0, kNothing};
  const pawl_status status = DO(it, pawl_context_loop_position(context, loop, &position));
  napi_value list;
  napi_create_array_with_length(env, 4, &list);
  if (status == PAWL_OK) {
    napi_set_element(env, list, 0, number_value(env, (double)position.finished));
    napi_set_element(env, list, 1, text_value(env, position.state));
    napi_set_element(env, list, 2, bool_value(env, position.is_done));
    napi_set_element(env, list, 3, text_value(env, position.result));
  }
  return call_end_context(&it, status, context, list);
}

/* (context, loop) => branch */
FUNCTION(enter_iteration) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch loop = uint_at(&it, 1);
  pawl_branch iteration = 0;
  const pawl_status status = DO(it, pawl_context_enter_iteration(context, loop, &iteration));
  return call_end_context(&it, status, context, number_value(env, iteration));
}

/* (context, loop, state) => future */
FUNCTION(continue_loop) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch loop = uint_at(&it, 1);
  const pawl_bytes state = text_at(&it, 2);
  pawl_future checkpoint = 0;
  const pawl_status status = DO(it, pawl_context_continue_loop(context, loop, state, &checkpoint));
  return call_end_context(&it, status, context, number_value(env, checkpoint));
}

/* (context, loop, state, result) => future */
FUNCTION(end_loop) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch loop = uint_at(&it, 1);
  const pawl_bytes state = text_at(&it, 2);
  const pawl_bytes result = text_at(&it, 3);
  pawl_future checkpoint = 0;
  const pawl_status status =
      DO(it, pawl_context_end_loop(context, loop, state, result, &checkpoint));
  return call_end_context(&it, status, context, number_value(env, checkpoint));
}

/* --- Outcomes, awaits, deliveries --------------------------------------------------------------
 */

/* [payload or undefined, extra] */
static napi_value pair_value(napi_env env, const pawl_outcome* outcome) {
  napi_value pair;
  napi_create_array_with_length(env, 2, &pair);
  napi_set_element(env, pair, 0,
                   outcome->has_payload ? text_value(env, outcome->payload) : undefined_value(env));
  napi_set_element(env, pair, 1, text_value(env, outcome->extra));
  return pair;
}

/* (context, future) => payload or undefined; register 0: outcome. */
FUNCTION(outcome) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_future future = uint_at(&it, 1);
  pawl_outcome found = {0, 0, kNothing, kNothing};
  const pawl_status status = DO(it, pawl_context_outcome(context, future, &found));
  it.self->registers[0] = (uint32_t)found.outcome;
  return call_end_context(&it, status, context,
                          status == PAWL_OK && found.has_payload ? text_value(env, found.payload)
                                                                 : undefined_value(env));
}

/* (context, future) => [payload or undefined, extra]; register 0: outcome. */
FUNCTION(full_outcome) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_future future = uint_at(&it, 1);
  pawl_outcome found = {0, 0, kNothing, kNothing};
  const pawl_status status = DO(it, pawl_context_outcome(context, future, &found));
  it.self->registers[0] = (uint32_t)found.outcome;
  return call_end_context(&it, status, context,
                          status == PAWL_OK ? pair_value(env, &found) : undefined_value(env));
}

/* (context, branch, name) => [payload or undefined, extra], or undefined */
FUNCTION(take_signal) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch branch = uint_at(&it, 1);
  const pawl_bytes name = text_at(&it, 2);
  pawl_outcome found = {0, 0, kNothing, kNothing};
  const pawl_status status = DO(it, pawl_context_take_signal(context, branch, name, &found));
  const bool is_there = status == PAWL_OK && found.outcome == PAWL_VALUE;
  return call_end_context(&it, status, context,
                          is_there ? pair_value(env, &found) : undefined_value(env));
}

/* (context, future) => text */
FUNCTION(command_id) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_future future = uint_at(&it, 1);
  pawl_bytes id = kNothing;
  const pawl_status status = DO(it, pawl_context_command_id(context, future, &id));
  return call_end_context(&it, status, context, text_value(env, id));
}

/* (context, mode, futures, is shielded) => await; registers: state, decided by. */
FUNCTION(begin_await) {
  BEGIN;
  enum { kFew = 32 };
  const pawl_context context = context_at(&it, 0);
  const int32_t mode = int_at(&it, 1);
  pawl_future few[kFew];
  pawl_future* futures = few;
  uint32_t count = 1;
  bool is_list = false;
  napi_is_array(env, it.at[2], &is_list);
  if (!is_list) {
    few[0] = uint_at(&it, 2);
  } else {
    napi_get_array_length(env, it.at[2], &count);
    if (count > kFew) {
      futures = malloc(count * sizeof *futures);
    }
    for (uint32_t i = 0; futures != NULL && i < count; ++i) {
      napi_value future;
      futures[i] = 0;
      napi_get_element(env, it.at[2], i, &future);
      napi_get_value_uint32(env, future, &futures[i]);
    }
  }
  const int32_t is_shielded = int_at(&it, 3);
  pawl_await_state begun = {0, 0, 0};
  const pawl_status status =
      DO(it, pawl_context_begin_await(context, mode, futures, count, is_shielded, &begun));
  if (futures != few) {
    free(futures);
  }
  it.self->registers[0] = (uint32_t)begun.state;
  it.self->registers[1] = begun.decided_by;
  return call_end_context(&it, status, context, handle_value(env, begun.id));
}

/* (context, entry) => is taken */
FUNCTION(arrive) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_bytes entry = text_at(&it, 1);
  int32_t is_taken = 0;
  const pawl_status status = DO(it, pawl_context_arrive(context, entry, &is_taken));
  return call_end_context(&it, status, context, bool_value(env, is_taken));
}

/* (context) => await, state, decided by of each that is over, or undefined: nothing is left;
 * register 0: future. */
FUNCTION(next_delivery) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  pawl_delivery delivery = {0, 0, NULL, 0};
  const pawl_status status = DO(it, pawl_context_next_delivery(context, &delivery));
  napi_value woken = undefined_value(env);
  it.self->registers[0] = delivery.future;
  if (status == PAWL_OK && delivery.is_there) {
    napi_create_array_with_length(env, 3 * delivery.woken_count, &woken);
    for (size_t i = 0; i < delivery.woken_count; ++i) {
      const pawl_await_state* over = &delivery.woken[i];
      const uint32_t at = 3 * (uint32_t)i;
      napi_set_element(env, woken, at, handle_value(env, over->id));
      napi_set_element(env, woken, at + 1, number_value(env, over->state));
      napi_set_element(env, woken, at + 2, number_value(env, over->decided_by));
    }
  }
  return call_end_context(&it, status, context, woken);
}

/* --- Reads -------------------------------------------------------------------------------------
 */

FUNCTION(now) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  int64_t now_ms = 0;
  const pawl_status status = DO(it, pawl_context_now(context, &now_ms));
  return call_end_context(&it, status, context, number_value(env, (double)now_ms));
}

/* (context) => reason, or undefined: nobody has asked. */
FUNCTION(cancelled) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  int32_t is_requested = 0;
  pawl_bytes reason = kNothing;
  const pawl_status status = DO(it, pawl_context_cancelled(context, &is_requested, &reason));
  return call_end_context(&it, status, context,
                          is_requested ? text_value(env, reason) : undefined_value(env));
}

/* (context, key) => value or undefined */
FUNCTION(state) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_bytes key = text_at(&it, 1);
  int32_t is_set = 0;
  pawl_bytes value = kNothing;
  const pawl_status status = DO(it, pawl_context_state(context, key, &is_set, &value));
  return call_end_context(&it, status, context,
                          is_set ? text_value(env, value) : undefined_value(env));
}

/* (context, branch) => text */
FUNCTION(uuid) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch branch = uint_at(&it, 1);
  char text[37] = "";
  const pawl_status status = DO(it, pawl_context_uuid(context, branch, text));
  const pawl_bytes bytes = {text, strlen(text)};
  return call_end_context(&it, status, context, text_value(env, bytes));
}

/* (context, branch) => number in [0, 1) */
FUNCTION(random_number) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_branch branch = uint_at(&it, 1);
  uint64_t number = 0;
  const pawl_status status = DO(it, pawl_context_random(context, branch, &number));
  return call_end_context(&it, status, context,
                          number_value(env, (double)(number >> 11) * 0x1p-53));
}

/* (context, name) => count */
FUNCTION(signal_count) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const pawl_bytes name = text_at(&it, 1);
  size_t count = 0;
  const pawl_status status = DO(it, pawl_context_signal_count(context, name, &count));
  return call_end_context(&it, status, context, number_value(env, (double)count));
}

/* --- The end -----------------------------------------------------------------------------------
 */

/* (context, end, payload) */
FUNCTION(finish) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  const int32_t end = int_at(&it, 1);
  const pawl_bytes payload = text_at(&it, 2);
  const pawl_status status = DO(it, pawl_context_finish(context, end, payload));
  return call_end_context(&it, status, context, undefined_value(env));
}

/* (context) => JSON */
FUNCTION(take_new) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  pawl_buffer entries = NULL;
  const pawl_status status = DO(it, pawl_context_take_new(context, &entries));
  return call_end_context(&it, status, context, buffer_value(env, status, entries));
}

/* (context) => JSON */
FUNCTION(report) {
  BEGIN;
  const pawl_context context = context_at(&it, 0);
  pawl_buffer text = NULL;
  const pawl_status status = DO(it, pawl_context_report(context, &text));
  return call_end_context(&it, status, context, buffer_value(env, status, text));
}

void add_contexts(napi_env env, napi_value exports) {
  add_function(env, exports, "create", create);
  add_function(env, exports, "free", free_context);
  add_function(env, exports, "setTime", set_time);
  add_function(env, exports, "yield", yield);
  add_function(env, exports, "open", open);
  add_function(env, exports, "removed", removed);
  add_function(env, exports, "checkVersion", check_version);
  add_function(env, exports, "complete", complete);
  add_function(env, exports, "execute", execute);
  add_function(env, exports, "send", send);
  add_function(env, exports, "taskExtra", task_extra);
  add_function(env, exports, "childExtra", child_extra);
  add_function(env, exports, "closeBranch", close_branch);
  add_function(env, exports, "abandonLoop", abandon_loop);
  add_function(env, exports, "loopPosition", loop_position);
  add_function(env, exports, "enterIteration", enter_iteration);
  add_function(env, exports, "continueLoop", continue_loop);
  add_function(env, exports, "endLoop", end_loop);
  add_function(env, exports, "outcome", outcome);
  add_function(env, exports, "fullOutcome", full_outcome);
  add_function(env, exports, "takeSignal", take_signal);
  add_function(env, exports, "commandId", command_id);
  add_function(env, exports, "beginAwait", begin_await);
  add_function(env, exports, "arrive", arrive);
  add_function(env, exports, "nextDelivery", next_delivery);
  add_function(env, exports, "now", now);
  add_function(env, exports, "cancelled", cancelled);
  add_function(env, exports, "state", state);
  add_function(env, exports, "uuid", uuid);
  add_function(env, exports, "random", random_number);
  add_function(env, exports, "signalCount", signal_count);
  add_function(env, exports, "finish", finish);
  add_function(env, exports, "takeNew", take_new);
  add_function(env, exports, "report", report);
}
