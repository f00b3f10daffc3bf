/* The C ABI as a C program uses it: a history replayed, runs worked on with a store, and a test that skips time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pawl.h"

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      const pawl_bytes why = pawl_last_error();                                   \
      fprintf(stderr, "%s:%d: %s is not so (last error: %.*s)\n", __FILE__, __LINE__, #condition, (int)why.size, \
              why.size ? why.data : "");                                          \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)
#define OK(call) CHECK((call) == PAWL_OK)

static pawl_bytes text(const char* from) {
  pawl_bytes bytes = {from, strlen(from)};
  return bytes;
}

static int is(pawl_bytes bytes, const char* expected) {
  return bytes.size == strlen(expected) && memcmp(bytes.data, expected, bytes.size) == 0;
}

static int has(pawl_bytes bytes, const char* part) {
  const size_t size = strlen(part);
  for (size_t i = 0; i + size <= bytes.size; ++i) {
    if (memcmp(bytes.data + i, part, size) == 0) {
      return 1;
    }
  }
  return 0;
}

static pawl_command command(int32_t kind, const char* name) {
  pawl_command made;
  memset(&made, 0, sizeof(made));
  made.size = sizeof(made);
  made.kind = kind;
  made.name = text(name);
  made.source = text("smoke_test.c:1");
  return made;
}

/* A workflow that schedules a task and waits for it, on a history that has both. */
static void a_history_is_replayed(void) {
  pawl_context_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.history = text(
      "[{\"event\": \"TaskScheduled\", \"taskType\": \"charge\", \"taskExecutionId\": \"t-1\"},"
      " {\"event\": \"TaskCompleted\", \"taskExecutionId\": \"t-1\", \"result\": 17}]");
  pawl_context context = NULL;
  OK(pawl_context_create(&options, &context));

  const pawl_command task = command(PAWL_TASK, "charge");
  pawl_opened opened;
  OK(pawl_context_open(context, &task, &opened));
  CHECK(opened.future != 0 && !opened.must_execute);
  pawl_await_state begun;
  OK(pawl_context_begin_await(context, PAWL_AWAIT_ALL, &opened.future, 1, 0, &begun));
  CHECK(begun.state == PAWL_AWAIT_BLOCKED && begun.id != 0);
  pawl_delivery delivery;
  OK(pawl_context_next_delivery(context, &delivery));
  CHECK(delivery.is_there && delivery.future == opened.future);
  CHECK(delivery.woken_count == 1 && delivery.woken[0].id == begun.id);
  CHECK(delivery.woken[0].state == PAWL_AWAIT_READY);
  CHECK(delivery.woken[0].decided_by == opened.future);
  CHECK(pawl_context_give_up_await(context, begun.id) == PAWL_INVALID_ARGUMENT);
  OK(pawl_context_begin_await(context, PAWL_AWAIT_ALL, &opened.future, 1, 0, &begun));
  CHECK(begun.state == PAWL_AWAIT_READY && begun.id == 0);
  pawl_outcome outcome;
  OK(pawl_context_outcome(context, opened.future, &outcome));
  CHECK(outcome.outcome == PAWL_VALUE && is(outcome.payload, "17"));
  OK(pawl_context_finish(context, PAWL_END_COMPLETED, text("18")));

  pawl_buffer entries = NULL;
  OK(pawl_context_take_new(context, &entries));
  pawl_bytes json;
  OK(pawl_buffer_data(entries, &json));
  CHECK(has(json, "WorkflowCompleted") && has(json, "18"));
  OK(pawl_buffer_free(entries));
  CHECK(pawl_buffer_free(entries) == PAWL_BAD_HANDLE);
  OK(pawl_context_free(context));
  CHECK(pawl_context_free(context) == PAWL_BAD_HANDLE);
}

static void code_that_disagrees_is_told_why(void) {
  pawl_context_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.history = text("[{\"event\": \"TaskScheduled\", \"taskType\": \"charge\"}]");
  pawl_context context = NULL;
  OK(pawl_context_create(&options, &context));
  const pawl_command task = command(PAWL_TASK, "refund");
  pawl_opened opened;
  CHECK(pawl_context_open(context, &task, &opened) == PAWL_DETERMINISM_VIOLATION);
  pawl_violation violation;
  memset(&violation, 0, sizeof(violation));
  violation.size = sizeof(violation);
  OK(pawl_context_violation(context, &violation));
  CHECK(violation.is_there);
  CHECK(is(violation.code, "PAWL-1002"));
  CHECK(is(violation.location, "{1}"));
  CHECK(is(violation.source_now, "smoke_test.c:1"));
  CHECK(has(violation.text, "'charge'") && has(violation.text, "'refund'"));
  OK(pawl_context_free(context));
}

/* --- An SDK in miniature: one kind of workflow, as a state machine. ---
 *
 *   x = run("double", input); sleep(a day); y = schedule("add-one", x); return y
 */
typedef struct {
  pawl_context context;
  int at;
  long value;
  pawl_future future;
  pawl_await await;
} code;

static code codes[64];

static code* code_of(pawl_context context) {
  code* empty = NULL;
  for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); ++i) {
    if (codes[i].context == context) {
      return &codes[i];
    }
    if (codes[i].context == NULL && empty == NULL) {
      empty = &codes[i];
    }
  }
  CHECK(empty != NULL);
  memset(empty, 0, sizeof(*empty));
  empty->context = context;
  return empty;
}

static void wait_for_future(code* it) {
  pawl_await_state begun;
  OK(pawl_context_begin_await(it->context, PAWL_AWAIT_ALL, &it->future, 1, 0, &begun));
  CHECK(begun.state == PAWL_AWAIT_BLOCKED);
  it->await = begun.id;
}

static long number_of(pawl_bytes payload) {
  char digits[32] = {0};
  CHECK(payload.size < sizeof(digits));
  memcpy(digits, payload.data, payload.size);
  return strtol(digits, NULL, 10);
}

static long value_of(code* it) {
  pawl_outcome outcome;
  OK(pawl_context_outcome(it->context, it->future, &outcome));
  CHECK(outcome.outcome == PAWL_VALUE);
  return outcome.has_payload ? number_of(outcome.payload) : 0;
}

/* Goes on until it waits. Returns 1 when it has ended. */
static int go_on(code* it) {
  pawl_opened opened;
  char digits[32];
  switch (it->at++) {
    case 0: {
      const pawl_command operation = command(PAWL_OPERATION, "double");
      OK(pawl_context_open(it->context, &operation, &opened));
      it->future = opened.future;
      if (opened.must_execute) {
        pawl_retry retry;
        OK(pawl_retry_default(&retry));
        retry.attempts = 3;
        retry.initial_ms = 1;
        OK(pawl_context_execute(it->context, opened.future, &retry, 0));
      }
      wait_for_future(it);
      return 0;
    }
    case 1: {
      it->value = value_of(it);
      pawl_command timer = command(PAWL_TIMER, "");
      timer.number = 24 * 3600 * 1000;
      OK(pawl_context_open(it->context, &timer, &opened));
      it->future = opened.future;
      wait_for_future(it);
      return 0;
    }
    case 2: {
      (void)value_of(it);
      pawl_command task = command(PAWL_TASK, "add-one");
      snprintf(digits, sizeof(digits), "%ld", it->value);
      task.has_payload = 1;
      task.payload = text(digits);
      OK(pawl_context_open(it->context, &task, &opened));
      it->future = opened.future;
      wait_for_future(it);
      return 0;
    }
    default:
      snprintf(digits, sizeof(digits), "%ld", value_of(it));
      OK(pawl_context_finish(it->context, PAWL_END_COMPLETED, text(digits)));
      return 1;
  }
}

static int activations;
static int replays;
static int failures_left;

static void handle(pawl_engine engine, const pawl_event* event) {
  char digits[32];
  if (event->kind == PAWL_EVENT_ACTIVATION) {
    ++activations;
    code* it = code_of(event->context);
    int is_over = 0;
    if (event->is_new) {
      ++replays;
      it->value = number_of(event->payload);
      is_over = go_on(it);
    }
    pawl_delivery delivery;
    memset(&delivery, 0, sizeof(delivery));
    while (!is_over) {
      OK(pawl_context_next_delivery(event->context, &delivery));
      if (!delivery.is_there) {
        break;
      }
      if (delivery.woken_count == 1 && delivery.woken[0].id == it->await) {
        is_over = go_on(it);
      }
    }
    if (is_over) {
      memset(it, 0, sizeof(*it));
    }
    OK(pawl_context_yield(event->context));
  } else if (event->kind == PAWL_EVENT_FORGET) {
    memset(code_of(event->context), 0, sizeof(code));
  } else if (event->kind == PAWL_EVENT_OPERATION) {
    CHECK(is(event->name, "double"));
    if (failures_left > 0) {
      --failures_left;
      pawl_failure failure;
      memset(&failure, 0, sizeof(failure));
      failure.size = sizeof(failure);
      failure.type = text("Flaky");
      failure.message = text("not this time");
      OK(pawl_attempt_fail(engine, event->attempt, &failure));
      return;
    }
    snprintf(digits, sizeof(digits), "%ld", 2 * code_of(event->context)->value);
    OK(pawl_attempt_complete(engine, event->attempt, text(digits)));
    CHECK(pawl_attempt_complete(engine, event->attempt, text(digits)) == PAWL_NOT_FOUND);
  } else if (event->kind == PAWL_EVENT_TASK) {
    CHECK(is(event->name, "add-one"));
    int32_t should_stop = 1;
    OK(pawl_attempt_heartbeat(engine, event->attempt, text("\"half\""), &should_stop));
    CHECK(!should_stop);
    snprintf(digits, sizeof(digits), "%ld", number_of(event->payload) + 1);
    OK(pawl_attempt_complete(engine, event->attempt, text(digits)));
  } else {
    CHECK(event->kind == PAWL_EVENT_REPLY);
  }
}

static pawl_engine open_engine(int replay_every_turn) {
  pawl_engine_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.is_test = 1;
  options.replay_every_turn = replay_every_turn;
  pawl_engine engine = NULL;
  OK(pawl_engine_open(&options, &engine));
  pawl_workflow_options workflow;
  memset(&workflow, 0, sizeof(workflow));
  workflow.size = sizeof(workflow);
  workflow.kind = text("calculate");
  OK(pawl_engine_add_workflow(engine, &workflow));
  CHECK(pawl_engine_add_workflow(engine, &workflow) == PAWL_ALREADY_EXISTS);
  OK(pawl_engine_add_activity(engine, text("add-one"), NULL));
  OK(pawl_engine_start(engine));
  return engine;
}

static void a_run_takes_a_day_in_no_time(int replay_every_turn) {
  activations = 0;
  replays = 0;
  failures_left = 2;
  pawl_engine engine = open_engine(replay_every_turn);
  int64_t began = 0;
  OK(pawl_test_now(engine, &began));

  pawl_start_options start;
  memset(&start, 0, sizeof(start));
  start.size = sizeof(start);
  start.kind = text("calculate");
  start.id = text("c-1");
  start.input = text("20");
  pawl_reply reply;
  OK(pawl_client_start(engine, &start, 0, &reply));
  CHECK(is(reply.payload, "c-1") && reply.flag == 1);
  OK(pawl_events_free(reply.list));
  OK(pawl_client_result(engine, text("c-1"), -1, 7, NULL));

  int is_answered = 0;
  while (!is_answered) {
    pawl_events events;
    OK(pawl_engine_poll(engine, ~0u, 10, 5000, &events));
    for (size_t i = 0; i < events.count; ++i) {
      const pawl_event* event = pawl_event_at(&events, i);
      if (event->kind == PAWL_EVENT_REPLY) {
        CHECK(event->attempt == 7 && event->status == PAWL_OK);
        CHECK(event->run_status == PAWL_RUN_COMPLETED && is(event->payload, "41"));
        is_answered = 1;
      } else {
        handle(engine, event);
      }
    }
    OK(pawl_events_free(events.list));
  }
  int64_t ended = 0;
  OK(pawl_test_now(engine, &ended));
  CHECK(ended - began >= 24 * 3600 * 1000 && ended - began < 25 * 3600 * 1000);
  CHECK(replay_every_turn ? replays > 3 : replays == 1);

  OK(pawl_client_describe(engine, text("c-1"), 0, &reply));
  CHECK(has(reply.payload, "\"status\":\"completed\""));
  OK(pawl_events_free(reply.list));
  OK(pawl_client_history(engine, text("c-1"), 0, &reply));
  CHECK(has(reply.payload, "TaskCompleted") && has(reply.payload, "TimerFired"));
  OK(pawl_events_free(reply.list));
  OK(pawl_client_list(engine, text("{\"statuses\": [\"completed\"]}"), 0, &reply));
  CHECK(has(reply.payload, "\"c-1\""));
  OK(pawl_events_free(reply.list));
  CHECK(pawl_client_describe(engine, text("nobody"), 0, &reply) == PAWL_NOT_FOUND);
  CHECK(pawl_client_list(engine, text("{"), 0, &reply) == PAWL_MALFORMED_INPUT);

  OK(pawl_engine_stop(engine));
  pawl_events none;
  CHECK(pawl_engine_poll(engine, ~0u, 10, 0, &none) == PAWL_CLOSED);
  CHECK(pawl_client_start(engine, &start, 0, &reply) == PAWL_CLOSED);
  OK(pawl_engine_free(engine));
  CHECK(pawl_engine_poll(engine, ~0u, 10, 0, &none) == PAWL_BAD_HANDLE);
}

static void what_is_wrong_is_refused(void) {
  pawl_context context = NULL;
  CHECK(pawl_context_create(NULL, &context) == PAWL_INVALID_ARGUMENT);
  pawl_context_options options;
  memset(&options, 0, sizeof(options));
  CHECK(pawl_context_create(&options, &context) == PAWL_INVALID_ARGUMENT); /* No size. */
  options.size = sizeof(options);
  CHECK(pawl_context_create(&options, NULL) == PAWL_INVALID_ARGUMENT);
  options.history = text("[{\"event\": 7}]");
  CHECK(pawl_context_create(&options, &context) == PAWL_MALFORMED_INPUT);
  options.history = text("");
  options.run_id = text("\xff\xfe");
  CHECK(pawl_context_create(&options, &context) == PAWL_INVALID_ARGUMENT);
  CHECK(has(pawl_last_error(), "UTF-8"));

  int64_t now = 0;
  CHECK(pawl_context_now(NULL, &now) == PAWL_BAD_HANDLE);
  CHECK(pawl_context_now((pawl_context)(uintptr_t)0x1234, &now) == PAWL_BAD_HANDLE);
  CHECK(pawl_engine_stop((pawl_engine)(void*)&now) == PAWL_BAD_HANDLE);

  pawl_engine_options engine_options;
  memset(&engine_options, 0, sizeof(engine_options));
  engine_options.size = sizeof(engine_options);
  pawl_engine engine = NULL;
  CHECK(pawl_engine_open(&engine_options, &engine) == PAWL_INVALID_ARGUMENT);
  engine_options.url = text("mysql:what");
  CHECK(pawl_engine_open(&engine_options, &engine) == PAWL_INVALID_ARGUMENT);
  CHECK(strcmp(pawl_status_name(PAWL_NOT_FOUND), "PAWL_NOT_FOUND") == 0);
  CHECK(strcmp(pawl_status_name(12345), "PAWL_UNKNOWN") == 0);
  CHECK(pawl_abi_version() == PAWL_ABI_VERSION);
}

int main(void) {
  a_history_is_replayed();
  code_that_disagrees_is_told_why();
  a_run_takes_a_day_in_no_time(0);
  a_run_takes_a_day_in_no_time(1);
  what_is_wrong_is_refused();
  puts("5 passed");
  return 0;
}
