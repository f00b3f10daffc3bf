/* A countdown as a durable workflow, in C: what examples/hello does in C++, on the bare C ABI. */
#include <pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRUCT(type, name) \
  type name;               \
  memset(&name, 0, sizeof(name)); \
  name.size = sizeof(name)

static void check(pawl_status status) {
  if (status != PAWL_OK) {
    const pawl_bytes why = pawl_last_error();
    fprintf(stderr, "%s: %.*s\n", pawl_status_name(status), (int)why.size, why.data);
    exit(1);
  }
}

static pawl_bytes text(const char* from) {
  const pawl_bytes bytes = {from, strlen(from)};
  return bytes;
}

/* Payloads do not end with a zero. */
static int number_of(pawl_bytes payload) {
  char digits[16];
  snprintf(digits, sizeof(digits), "%.*s", (int)payload.size, payload.data);
  return atoi(digits);
}

/* The code of the one run that there is: where it stands. An SDK has a coroutine here. */
static struct {
  int number;
  int sleeps; /* It waits for the timer, else for the operation. */
} code;

/* Asks for the next step, and waits for it. Returns 0 when the workflow has ended. */
static int next_step(pawl_context context) {
  if (!code.sleeps && code.number == 0) {
    check(pawl_context_finish(context, PAWL_END_COMPLETED, text("\"lift-off\"")));
    return 0;
  }
  STRUCT(pawl_command, step);
  step.kind = code.sleeps ? PAWL_TIMER : PAWL_OPERATION;
  step.name = text(code.sleeps ? "" : "say");
  step.number = code.sleeps ? 1000 : 0;
  pawl_opened opened;
  check(pawl_context_open(context, &step, &opened));
  if (opened.must_execute) {
    check(pawl_context_execute(context, opened.future, NULL, 0));
  }
  pawl_await_state begun; /* Blocked: what is new always is, and so is what a delivery has yet to give out. */
  check(pawl_context_begin_await(context, PAWL_AWAIT_ALL, &opened.future, 1, 0, &begun));
  return 1;
}

/* The run may go on: with each delivery that ends its wait, to its next step. */
static void go_on(const pawl_event* event) {
  int is_open = 1;
  if (event->is_new) {
    code.number = number_of(event->payload);
    code.sleeps = 0;
    is_open = next_step(event->context);
  }
  while (is_open) {
    pawl_delivery delivery;
    check(pawl_context_next_delivery(event->context, &delivery));
    if (!delivery.is_there) {
      break;
    }
    if (delivery.woken_count == 1) {
      code.number -= code.sleeps;
      code.sleeps = !code.sleeps;
      is_open = next_step(event->context);
    }
  }
  check(pawl_context_yield(event->context));
}

static void run_until_replied(pawl_engine engine) {
  while (1) {
    pawl_events events;
    check(pawl_engine_poll(engine, ~0u, 16, -1, &events));
    int is_over = 0;
    for (size_t i = 0; i < events.count; ++i) {
      const pawl_event* event = pawl_event_at(&events, i);
      if (event->kind == PAWL_EVENT_ACTIVATION) {
        go_on(event);
      } else if (event->kind == PAWL_EVENT_OPERATION) {
        printf("%d\n", code.number);
        fflush(stdout);
        check(pawl_attempt_complete(engine, event->attempt, text("null")));
      } else if (event->kind == PAWL_EVENT_REPLY) {
        check(event->status);
        printf("%.*s\n", (int)event->payload.size, event->payload.data);
        is_over = 1;
      }
    }
    check(pawl_events_free(events.list));
    if (is_over) {
      return;
    }
  }
}

int main(int argc, char** argv) {
  STRUCT(pawl_engine_options, options);
  options.url = text(argc > 1 ? argv[1] : "sqlite:hello.db");
  pawl_engine engine;
  check(pawl_engine_open(&options, &engine));
  STRUCT(pawl_workflow_options, workflow);
  workflow.kind = text("countdown");
  check(pawl_engine_add_workflow(engine, &workflow));
  check(pawl_engine_start(engine));

  STRUCT(pawl_start_options, start);
  start.kind = text("countdown");
  start.id = text("launch");
  start.input = text("5");
  pawl_reply started;
  check(pawl_client_start(engine, &start, 0, &started));
  check(pawl_events_free(started.list));
  check(pawl_client_result(engine, text("launch"), -1, 1, NULL));
  run_until_replied(engine);
  check(pawl_engine_free(engine));
  return 0;
}
