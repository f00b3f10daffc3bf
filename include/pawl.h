/* Pawl's C ABI: what an SDK in another language stands on.
 *
 * Three parts. A context is one run being replayed and carried on: code asks it for commands and is
 * told, one delivery at a time, what came of them. An engine opens a store; it is a client for runs
 * there, and, once started, works on them: it hands out contexts whose code may go on, and attempts
 * of activities, as events. docs/sdk-authors.md shows how the parts make an SDK.
 *
 * Rules
 *  1. Every call returns PAWL_OK or what went wrong. pawl_last_error() then has a sentence for
 *     people, of the last call that failed on the same thread. Nothing is thrown, nothing aborts.
 *     What a call gives out is written only if it returns PAWL_OK.
 *  2. Handles are names, not addresses. One that is 0, was freed or is of another kind is refused
 *     with PAWL_BAD_HANDLE.
 *  3. An engine may be used by any number of threads at once. A context is for one thread at a
 * time; a call that finds another one inside returns PAWL_BUSY. That is noticed, but not relied on.
 *  4. Structs that are passed in begin with `size`: sizeof of the struct as the caller knows it.
 * What is missing behind it has its default, which is always 0 or NULL. Initialise them with zeros.
 *  5. Texts and payloads are pointer and length (pawl_bytes); a NULL pointer with length 0 is
 * empty. What is passed in is borrowed for the call. What is given out belongs to the library: it
 * says how long it is valid. Names, ids and JSON are UTF-8, which is checked; payloads are any
 * bytes, by custom JSON.
 *  6. Buffers (pawl_buffer) that are given out are freed by pawl_buffer_free().
 *  7. Times are milliseconds since 1970; durations are milliseconds. Booleans are 0 or 1.
 *  8. Numbers of codes, kinds and modes never change their meaning. Enumerations, structs with
 * `size` and pawl_event grow at their end only; other structs stay as they are. PAWL_ABI_VERSION
 * counts changes that break this; it is in the name of the library: libpawl.so.1.
 *
 * Exported: what begins with pawl_, and nothing else. Valid C11.
 */
#ifndef PAWL_H
#define PAWL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PAWL_API __attribute__((visibility("default")))
#else
#define PAWL_API
#endif

#define PAWL_ABI_VERSION 1

/* --- Codes ------------------------------------------------------------------------------------ */

typedef int32_t pawl_status;

enum {
  PAWL_OK = 0,
  PAWL_INVALID_ARGUMENT = 1,       /* Something that can never work. */
  PAWL_INVALID_STATE = 3,          /* It does not fit what happened before. */
  PAWL_LIMIT_EXCEEDED = 4,         /* A stated limit was reached. */
  PAWL_NOT_FOUND = 5,              /* No such run, promise … */
  PAWL_ALREADY_EXISTS = 6,         /* There is one already. */
  PAWL_CLOSED = 7,                 /* The run has ended, or the engine has been stopped. */
  PAWL_TIMED_OUT = 8,              /* The caller's own limit. */
  PAWL_BAD_HANDLE = 9,             /* 0, freed, or of another kind. */
  PAWL_BUSY = 10,                  /* Another thread is inside of this context. */
  PAWL_INTERNAL = 11,              /* Out of memory, or a defect of the library. */
  PAWL_DETERMINISM_VIOLATION = 20, /* Code disagrees with history: pawl_context_violation(). */
  PAWL_CORRUPT_LOG = 40,           /* A log that no run can have written. */
  PAWL_MALFORMED_INPUT = 41,       /* Text that is not in the format it should be in. */
  PAWL_STORE_BUSY = 60,
  PAWL_STORE_FULL = 61,
  PAWL_STORE_IO = 62,
  PAWL_STORE_CORRUPT = 63,
  PAWL_STORE_UNUSABLE = 64,
  PAWL_UNKNOWN_OUTCOME = 65 /* The connection was lost: it may have happened or not. */
};

/* Kinds of commands. */
enum {
  PAWL_TASK = 1,
  PAWL_OPERATION = 2,
  PAWL_TIMER = 3,
  PAWL_PROMISE = 4,
  PAWL_CHILD = 5,
  PAWL_STATE = 6,
  PAWL_SIGNAL = 7,
  PAWL_BRANCH = 8,
  PAWL_LOOP = 9,
  PAWL_VERSION_CHECK = 10,
  PAWL_COMPENSATION = 11,
  PAWL_CANCEL_TASK = 12,
  PAWL_CANCEL_TIMER = 13
};

/* What became of a command. */
enum {
  PAWL_PENDING = 0,
  PAWL_VALUE = 1,
  PAWL_FAILED = 2,
  PAWL_CANCELLED = 3,
  PAWL_TIMEOUT = 4 /* Of a promise or a signal. */
};

/* How commands are found in the history. */
enum { PAWL_STRICT = 0, PAWL_PER_KIND = 1, PAWL_BY_NAME = 2 };

/* What to wait for: all, or the first failure; or whichever is complete first. */
enum { PAWL_AWAIT_ALL = 0, PAWL_AWAIT_ANY = 1 };

enum { PAWL_AWAIT_BLOCKED = 0, PAWL_AWAIT_READY = 1, PAWL_AWAIT_CANCELLED = 2 };

/* How a workflow function ends. */
enum {
  PAWL_END_COMPLETED = 65, /* payload: its result */
  PAWL_END_FAILED = 66,    /* a failure; see pawl_failure */
  PAWL_END_CANCELLED = 67, /* the reason */
  PAWL_END_RECURRED = 68   /* the input of the next run */
};

/* Statuses of runs. */
enum {
  PAWL_RUN_RUNNING = 1,
  PAWL_RUN_WAITING = 2,
  PAWL_RUN_COMPENSATING = 3,
  PAWL_RUN_COMPLETED = 4,
  PAWL_RUN_FAILED = 5,
  PAWL_RUN_CANCELLED = 6,
  PAWL_RUN_RECURRED = 7,
  PAWL_RUN_BLOCKED = 8
};

/* What start does when there is a run with this id. */
enum { PAWL_EXISTING_RETURN = 0, PAWL_EXISTING_FAIL = 1, PAWL_EXISTING_REPLACE = 2 };

/* What to do with runs that were started under another fingerprint: replay all and go on if the
 * code agrees, or block them until a person decides. */
enum { PAWL_ON_CHANGE_VERIFY = 0, PAWL_ON_CHANGE_REFUSE = 1 };

/* What happens to a child that is open when its parent ends. */
enum {
  PAWL_PARENT_CLOSE_CANCEL = 0,
  PAWL_PARENT_CLOSE_ABANDON = 1,
  PAWL_PARENT_CLOSE_TERMINATE = 2
};

/* --- Basics ----------------------------------------------------------------------------------- */

typedef struct pawl_bytes {
  const char* data;
  size_t size;
} pawl_bytes;

typedef struct pawl_context_handle* pawl_context;
typedef struct pawl_engine_handle* pawl_engine;
typedef struct pawl_buffer_handle* pawl_buffer;
typedef struct pawl_events_handle* pawl_event_list;

/* "1.2.3" */
PAWL_API const char* pawl_version(void);
/* PAWL_ABI_VERSION of the library. */
PAWL_API uint32_t pawl_abi_version(void);
/* "PAWL_NOT_FOUND"; "PAWL_UNKNOWN" for what is no code. */
PAWL_API const char* pawl_status_name(pawl_status status);
/* Of this thread; valid until its next call. */
PAWL_API pawl_bytes pawl_last_error(void);

/* Valid until the buffer is freed. */
PAWL_API pawl_status pawl_buffer_data(pawl_buffer buffer, pawl_bytes* data);
PAWL_API pawl_status pawl_buffer_free(pawl_buffer buffer);

typedef struct pawl_retry {
  size_t size;
  uint32_t attempts;      /* In all; 0: no limit. */
  int64_t initial_ms;     /* 0: at once. */
  int64_t maximum_ms;     /* 0: 60 s. */
  double factor;          /* 0: 2. */
  double jitter;          /* Part of the interval that is random: 0 to 1. */
  pawl_bytes final_types; /* Types of failures that are not tried again, a line each. */
} pawl_retry;
/* Sets all of it: one attempt; 1 s, 60 s, factor 2, jitter 0.1 if `attempts` is raised. */
PAWL_API pawl_status pawl_retry_default(pawl_retry* retry);

/* How an attempt failed. As a payload, e.g. of PAWL_END_FAILED or of an outcome, it is JSON:
 * {"type": …, "message": …, "details": …}. */
typedef struct pawl_failure {
  size_t size;
  pawl_bytes type;
  pawl_bytes message;
  pawl_bytes details;     /* JSON, or empty. */
  int32_t is_final;       /* Not to be tried again, whatever the policy says. */
  int32_t is_cancelled;   /* It ended because it was asked to. */
  int32_t has_next_delay; /* The next attempt comes after `next_delay_ms`, not by the policy. */
  int64_t next_delay_ms;
} pawl_failure;

/* --- Contexts --------------------------------------------------------------------------------- */

/* Numbers a command's outcome to come, from 1; 0: none. */
typedef uint32_t pawl_future;
/* The root is 0. */
typedef uint32_t pawl_branch;
typedef uint64_t pawl_await;

typedef struct pawl_context_options {
  size_t size;
  pawl_bytes run_id; /* A UUID; empty: all zeros. */
  int32_t matching;
  int64_t started_at_ms;
  pawl_bytes history; /* A JSON array of entries; see docs/formats/scenario.md. Empty: none. */
  pawl_bytes definition_then;
  pawl_bytes definition_now;
} pawl_context_options;

/* One that belongs to the caller: for tests, and for tools that look at histories. Contexts that an
 * engine hands out are its own; see pawl_event. */
PAWL_API pawl_status pawl_context_create(const pawl_context_options* options,
                                         pawl_context* context);
/* Only of one that was created. */
PAWL_API pawl_status pawl_context_free(pawl_context context);

/* The time for entries made from now on. Not for an engine's. */
PAWL_API pawl_status pawl_context_set_time(pawl_context context, int64_t now_ms);

typedef struct pawl_command {
  size_t size;
  int32_t kind;
  pawl_branch branch;
  /* Task type, operation, signal, child or compensation name, state key, promise id; a timer's id,
   * or empty. */
  pawl_bytes name;
  pawl_bytes child_kind;
  pawl_future target;  /* What to cancel. */
  pawl_bytes step_key; /* To match by, instead of its place. */
  uint32_t version;    /* 0: the branch's. */
  pawl_bytes source;   /* "order.py:17", for reports. */
  int32_t has_payload;
  pawl_bytes payload;        /* Input, value, or first state of a loop. */
  int32_t clear;             /* State: clear instead of set. */
  int64_t number;            /* Duration or timeout. */
  uint32_t checkpoint_every; /* Loops; 0: 20. */
  pawl_bytes extra;          /* Options: pawl_task_extra(), pawl_child_extra(). */
} pawl_command;

typedef struct pawl_opened {
  pawl_future future;   /* 0 for what has no outcome: state, branches, compensations, cancels. */
  pawl_branch branch;   /* The new branch or loop. */
  int32_t must_execute; /* Operations: its outcome is not in the history. */
} pawl_opened;

/* A command: matched to history, or new. */
PAWL_API pawl_status pawl_context_open(pawl_context context, const pawl_command* command,
                                       pawl_opened* opened);
/* The outcome of an operation that must be executed; PAWL_VALUE or PAWL_FAILED. Not for an
 * engine's: there it is pawl_context_execute(). */
PAWL_API pawl_status pawl_context_complete(pawl_context context, pawl_future operation,
                                           int32_t outcome, pawl_bytes payload);
/* A step that the code once had: kind, and name and step_key if it had them. */
PAWL_API pawl_status pawl_context_removed(pawl_context context, const pawl_command* step);
PAWL_API pawl_status pawl_context_check_version(pawl_context context, pawl_branch branch,
                                                uint32_t latest, pawl_bytes source,
                                                uint32_t* version);
/* The code of a branch has ended, by return or by error. */
PAWL_API pawl_status pawl_context_close_branch(pawl_context context, pawl_branch branch);

/* Loops: open it, await its future; then for each iteration enter, run, and continue or end it, and
 * await, shielded, the future that this gives, unless it is 0. */
typedef struct pawl_loop_position {
  uint64_t finished; /* Iterations. */
  pawl_bytes state;  /* Valid until the next call with this context, as is the result. */
  int32_t is_done;
  pawl_bytes result;
} pawl_loop_position;
PAWL_API pawl_status pawl_context_loop_position(pawl_context context, pawl_branch loop,
                                                pawl_loop_position* position);
PAWL_API pawl_status pawl_context_enter_iteration(pawl_context context, pawl_branch loop,
                                                  pawl_branch* iteration);
PAWL_API pawl_status pawl_context_continue_loop(pawl_context context, pawl_branch loop,
                                                pawl_bytes state, pawl_future* checkpoint);
PAWL_API pawl_status pawl_context_end_loop(pawl_context context, pawl_branch loop, pawl_bytes state,
                                           pawl_bytes result, pawl_future* checkpoint);
/* It was left by an error. */
PAWL_API pawl_status pawl_context_abandon_loop(pawl_context context, pawl_branch loop);

typedef struct pawl_outcome {
  int32_t outcome;
  int32_t has_payload;
  pawl_bytes payload; /* Value, failure or reason. Valid until the next call with this context. */
  pawl_bytes extra;   /* Of a signal: its event's attributes, as JSON. As long. */
} pawl_outcome;
PAWL_API pawl_status pawl_context_outcome(pawl_context context, pawl_future future,
                                          pawl_outcome* outcome);
/* The command's own id: of a task the key for idempotency, of a timer its id. Valid until the next
 * call with this context. */
PAWL_API pawl_status pawl_context_command_id(pawl_context context, pawl_future future,
                                             pawl_bytes* id);

typedef struct pawl_await_state {
  pawl_await id;
  int32_t state;
  /* Any, or only one future: that one. All: the one that failed, or 0. */
  pawl_future decided_by;
} pawl_await_state;
/* PAWL_AWAIT_BLOCKED: a delivery will say when it is over. Else it is, and has no number. */
PAWL_API pawl_status pawl_context_begin_await(pawl_context context, int32_t mode,
                                              const pawl_future* futures, size_t count,
                                              int32_t is_shielded, pawl_await_state* begun);
/* Nobody waits any more. For an await that no delivery has named. */
PAWL_API pawl_status pawl_context_give_up_await(pawl_context context, pawl_await await);

/* Puts an arrival, a JSON object as in a history, into the inbox. `is_taken` 0: it was dropped,
 * because its command is complete, forgotten or unknown. Not for an engine's. */
PAWL_API pawl_status pawl_context_arrive(pawl_context context, pawl_bytes entry, int32_t* is_taken);

typedef struct pawl_delivery {
  int32_t is_there;   /* 0: nothing is left, the run waits. */
  pawl_future future; /* What it completes; 0: a signal that nobody waits for, a cancel request. */
  /* Awaits that are over. Their code goes on, in this order, each until it is blocked again. Valid
   * until the next call of this function. */
  const pawl_await_state* woken;
  size_t woken_count;
} pawl_delivery;
/* When all code is blocked. */
PAWL_API pawl_status pawl_context_next_delivery(pawl_context context, pawl_delivery* delivery);

/* Time as the code may know it. */
PAWL_API pawl_status pawl_context_now(pawl_context context, int64_t* now_ms);
/* `reason` and `value` are valid until the next call with this context. */
PAWL_API pawl_status pawl_context_cancelled(pawl_context context, int32_t* is_requested,
                                            pawl_bytes* reason);
PAWL_API pawl_status pawl_context_state(pawl_context context, pawl_bytes key, int32_t* is_set,
                                        pawl_bytes* value);
/* `uuid` gets 36 characters and a zero. */
PAWL_API pawl_status pawl_context_uuid(pawl_context context, pawl_branch branch, char uuid[37]);
PAWL_API pawl_status pawl_context_random(pawl_context context, pawl_branch branch,
                                         uint64_t* random);
PAWL_API pawl_status pawl_context_signal_count(pawl_context context, pawl_bytes name,
                                               size_t* count);
/* Takes the oldest signal of this name that nobody waits for, without waiting: PAWL_VALUE, or
 * PAWL_PENDING if there is none. Makes no command. */
PAWL_API pawl_status pawl_context_take_signal(pawl_context context, pawl_branch branch,
                                              pawl_bytes name, pawl_outcome* signal);

/* The workflow function has ended. */
PAWL_API pawl_status pawl_context_finish(pawl_context context, int32_t end, pawl_bytes payload);

/* Entries made since the last call, as a JSON array. Not for an engine's. */
PAWL_API pawl_status pawl_context_take_new(pawl_context context, pawl_buffer* entries);
/* {"waiting": [locations], "orphaned": [locations]}: what awaits are blocked on, and recorded
 * commands that the code did not ask for. For tests. */
PAWL_API pawl_status pawl_context_report(pawl_context context, pawl_buffer* report);

/* Why code and history disagree. All texts are valid until the context is freed or handed back. */
typedef struct pawl_violation {
  size_t size;
  int32_t is_there;
  pawl_bytes code;     /* PAWL-1002 */
  pawl_bytes headline; /* Task type mismatch at Task(0): expected 'B', got 'A' */
  pawl_bytes run_id;
  pawl_bytes location;    /* {1} */
  pawl_bytes label;       /* {1} Task(0) B:1 */
  pawl_bytes recorded;    /* What history holds, */
  pawl_bytes asked;       /* and what the code asked for. */
  pawl_bytes source_now;  /* Where in the code, now */
  pawl_bytes source_then; /* and when it was recorded. */
  pawl_bytes last_agreed; /* The last entry on which both agreed. */
  pawl_bytes definition_then;
  pawl_bytes definition_now;
  pawl_bytes advice;
  pawl_bytes text; /* All of it, for people. */
} pawl_violation;
PAWL_API pawl_status pawl_context_violation(pawl_context context, pawl_violation* violation);

/* --- Options of commands, for pawl_command.extra ------------------------------------------------
 */

typedef struct pawl_task_options {
  size_t size;
  pawl_bytes queue; /* Empty: "default". */
  int32_t priority;
  int64_t wait_timeout_ms; /* Until it is taken, each time; 0: any, here and below. */
  int64_t attempt_timeout_ms;
  int64_t total_timeout_ms;
  int64_t heartbeat_timeout_ms;
  const pawl_retry* retry; /* NULL: the default. */
} pawl_task_options;
PAWL_API pawl_status pawl_task_extra(const pawl_task_options* options, pawl_buffer* extra);
/* `tags`: a JSON object of strings, or empty. */
PAWL_API pawl_status pawl_child_extra(int32_t parent_close, pawl_bytes tags, pawl_buffer* extra);

/* --- Engines ------------------------------------------------------------------------------------
 */

typedef struct pawl_engine_options {
  size_t size;
  pawl_bytes url;             /* "sqlite:shop.db", "postgres://…". */
  pawl_bytes worker_name;     /* For people; empty: host and process. */
  int64_t lease_ms;           /* 0: 30 s. */
  uint64_t cache_bytes;       /* For runs that wait in memory; 0: 256 MiB. */
  uint64_t payload_bytes_max; /* 0: 64 MiB. */
  pawl_bytes queues; /* To take tasks from: {"default": 64}, with how many at once. Empty: that. */
  /* For tests: a store of its own, without `url`, and a clock that stands still, but for when
   * somebody waits for a result or advances it and there is nothing else to do: then it jumps to
   * the next moment at which something is due. Whoever polls does the work. */
  int32_t is_test;
  /* Tests: every run is thrown out of memory after each turn and comes back by replay. */
  int32_t replay_every_turn;
} pawl_engine_options;

PAWL_API pawl_status pawl_engine_open(const pawl_engine_options* options, pawl_engine* engine);

typedef struct pawl_workflow_options {
  size_t size;
  pawl_bytes kind;
  int32_t matching;
  pawl_bytes fingerprint; /* Of its code; empty: unknown. */
  int32_t on_change;
} pawl_workflow_options;
/* Before start. */
PAWL_API pawl_status pawl_engine_add_workflow(pawl_engine engine,
                                              const pawl_workflow_options* options);
/* `compensation_retry`: when it runs as a compensation; NULL: ten attempts. Before start. */
PAWL_API pawl_status pawl_engine_add_activity(pawl_engine engine, pawl_bytes name,
                                              const pawl_retry* compensation_retry);
/* Begins to work. Without it, an engine is a client only. */
PAWL_API pawl_status pawl_engine_start(pawl_engine engine);
/* Gives back the runs. Attempts that are out count as stopped: asked to stop, and begun again
 * elsewhere. Polls give what is there, and then PAWL_CLOSED; so do calls that need the store.
 * Blocks until done. */
PAWL_API pawl_status pawl_engine_stop(pawl_engine engine);
/* Stops it, if that has not been done; then the handle is void. */
PAWL_API pawl_status pawl_engine_free(pawl_engine engine);

/* Kinds of events; as bits of a mask for polls. */
enum {
  /* The code of a run may go on: `context` is the caller's until pawl_context_yield(). If `is_new`,
   * it begins at the start with `input`; the context then has the run's history, which may be
   * empty, and whatever the caller has of an older context of the same run is void. Else it goes on
   * with what pawl_context_next_delivery() says. */
  PAWL_EVENT_ACTIVATION = 1,
  /* An operation that pawl_context_execute() asked for: an attempt of `future` of `context`, which
   * is just a name here. To be answered by pawl_attempt_complete() or pawl_attempt_fail(). */
  PAWL_EVENT_OPERATION = 2,
  /* An attempt of an activity: of a task, or a compensation. To be answered the same way. */
  PAWL_EVENT_TASK = 4,
  /* The context is gone, and with it should go what the caller keeps for it. Not sent for one whose
   * workflow has been finished: that is dropped at yield. */
  PAWL_EVENT_FORGET = 8,
  /* The answer to a client's call that was given a tag. */
  PAWL_EVENT_REPLY = 16,
  /* Trouble that no call can report: `payload` is a sentence. */
  PAWL_EVENT_TROUBLE = 32
};

typedef struct pawl_event {
  int32_t kind;
  int32_t is_new;       /* ACTIVATION */
  pawl_context context; /* ACTIVATION, OPERATION, FORGET */
  uint64_t attempt;     /* OPERATION, TASK: names the attempt. REPLY: the tag. */
  pawl_future future;   /* OPERATION */
  uint32_t number;      /* ACTIVATION: of the run with this id. OPERATION, TASK: of the attempt. */
  pawl_bytes run_id;    /* The user's. */
  pawl_bytes run_uuid;  /* ACTIVATION */
  pawl_bytes name;      /* ACTIVATION: the kind of workflow. OPERATION, TASK: name or type. */
  pawl_bytes payload;   /* ACTIVATION if new, TASK: the input. REPLY: its payload. */
  pawl_bytes key;       /* OPERATION, TASK: the same for every attempt. */
  pawl_bytes details;   /* TASK: of the last heartbeat of an earlier attempt. */
  /* REPLY */
  pawl_status status;
  int32_t run_status; /* result: how the run ended. */
  int32_t flag;       /* start: the run is new. signal, pause: it was not so before. */
} pawl_event;

typedef struct pawl_events {
  pawl_event_list list;    /* To be freed; so long, the texts are valid. */
  const pawl_event* first; /* The next one is `stride` bytes further. */
  size_t stride;
  size_t count;
} pawl_events;

/* One of them, by its number from 0; NULL if there are not so many. */
PAWL_API const pawl_event* pawl_event_at(const pawl_events* events, size_t number);

/* Waits for at least one event of these kinds, up to `limit` of them; `timeout_ms` negative: for
 * any time. PAWL_TIMED_OUT: none came. PAWL_CLOSED: none will come. Several threads may poll. */
PAWL_API pawl_status pawl_engine_poll(pawl_engine engine, uint32_t kinds, size_t limit,
                                      int64_t timeout_ms, pawl_events* events);
PAWL_API pawl_status pawl_events_free(pawl_event_list list);

/* Of a context that an engine has handed out: to execute an operation that must be; it starts when
 * all that led to it is durable. `retry` NULL: one attempt. `timeout_ms`: of one attempt, 0: none.
 */
PAWL_API pawl_status pawl_context_execute(pawl_context context, pawl_future operation,
                                          const pawl_retry* retry, int64_t timeout_ms);
/* A signal to another run, by an operation that must be executed: sent in the commit that records
 * it. `dedupe`: sent once by this; empty: by the operation's own id. `extra`: attributes of the
 * event as an outcome has them, a JSON object, or empty; see docs/sdk-authors.md. */
PAWL_API pawl_status pawl_context_send(pawl_context context, pawl_future operation,
                                       pawl_bytes run_id, pawl_bytes signal, pawl_bytes payload,
                                       pawl_bytes extra, pawl_bytes dedupe);
/* All code is blocked, nothing is left to deliver: the engine goes on with it. */
PAWL_API pawl_status pawl_context_yield(pawl_context context);

PAWL_API pawl_status pawl_attempt_complete(pawl_engine engine, uint64_t attempt, pawl_bytes result);
PAWL_API pawl_status pawl_attempt_fail(pawl_engine engine, uint64_t attempt,
                                       const pawl_failure* failure);
/* Says that the attempt is alive; `details` are for the next one, should this one fail.
 * `should_stop`: it is cancelled, timed out, or not wanted any more. */
PAWL_API pawl_status pawl_attempt_heartbeat(pawl_engine engine, uint64_t attempt,
                                            pawl_bytes details, int32_t* should_stop);
/* The same without saying anything. */
PAWL_API pawl_status pawl_attempt_should_stop(pawl_engine engine, uint64_t attempt,
                                              int32_t* should_stop);

/* --- Clients ------------------------------------------------------------------------------------
 *
 * Each call takes where to answer. With `reply`, it blocks until the answer is there and durable,
 * and returns its status; `reply` may have a list to be freed by pawl_events_free(), and its texts
 * are valid so long. With `reply` NULL it returns at once, and the answer comes as PAWL_EVENT_REPLY
 * with `tag`. The newest run with the id is meant. */

typedef struct pawl_reply {
  pawl_event_list list;
  pawl_bytes payload; /* See the call. */
  int32_t run_status;
  int32_t flag;
} pawl_reply;

typedef struct pawl_start_options {
  size_t size;
  pawl_bytes kind;
  pawl_bytes id; /* Empty: a new one is made. */
  pawl_bytes input;
  int32_t on_existing;
  pawl_bytes tags;   /* A JSON object of strings, or empty. */
  pawl_bytes signal; /* Not empty: is sent, too, in the same commit. */
  pawl_bytes signal_payload;
  pawl_bytes signal_event; /* JSON: the CloudEvents attributes id, source, type, subject, time. */
} pawl_start_options;
/* payload: the run's id; flag: it is new. */
PAWL_API pawl_status pawl_client_start(pawl_engine engine, const pawl_start_options* options,
                                       uint64_t tag, pawl_reply* reply);
/* Waits for the end of the run and of those it recurs to. payload: result, failure or reason;
 * run_status: how it ended. `timeout_ms` negative: none; it counts only with `reply`. */
PAWL_API pawl_status pawl_client_result(pawl_engine engine, pawl_bytes run_id, int64_t timeout_ms,
                                        uint64_t tag, pawl_reply* reply);
/* `event`: as of start; by its id and source it is sent once. flag: it was sent. */
PAWL_API pawl_status pawl_client_signal(pawl_engine engine, pawl_bytes run_id, pawl_bytes signal,
                                        pawl_bytes payload, pawl_bytes event, uint64_t tag,
                                        pawl_reply* reply);
PAWL_API pawl_status pawl_client_resolve(pawl_engine engine, pawl_bytes run_id, pawl_bytes promise,
                                         pawl_bytes payload, uint64_t tag, pawl_reply* reply);
PAWL_API pawl_status pawl_client_reject(pawl_engine engine, pawl_bytes run_id, pawl_bytes promise,
                                        const pawl_failure* failure, uint64_t tag,
                                        pawl_reply* reply);
/* `reason`: text. */
PAWL_API pawl_status pawl_client_cancel(pawl_engine engine, pawl_bytes run_id, pawl_bytes reason,
                                        uint64_t tag, pawl_reply* reply);
/* At once: no code of it runs any more. */
PAWL_API pawl_status pawl_client_terminate(pawl_engine engine, pawl_bytes run_id, pawl_bytes reason,
                                           uint64_t tag, pawl_reply* reply);
/* flag: it was not so before. */
PAWL_API pawl_status pawl_client_pause(pawl_engine engine, pawl_bytes run_id, int32_t is_paused,
                                       uint64_t tag, pawl_reply* reply);
/* Has a blocked run tried again. */
PAWL_API pawl_status pawl_client_resume(pawl_engine engine, pawl_bytes run_id, uint64_t tag,
                                        pawl_reply* reply);
/* payload: JSON, an object with id, number, kind, uuid, status, waitingFor, started, changed,
 * paused, tags, and reason if the run is blocked. */
PAWL_API pawl_status pawl_client_describe(pawl_engine engine, pawl_bytes run_id, uint64_t tag,
                                          pawl_reply* reply);
/* `query`: JSON, {"kinds": [], "statuses": [], "tags": {}, "limit": 100, "cursor": ""}, all
 * optional; statuses are words as in pawl_client_describe(): "running", "waiting" … payload:
 * {"runs": [as describe], "next": "cursor"}. */
PAWL_API pawl_status pawl_client_list(pawl_engine engine, pawl_bytes query, uint64_t tag,
                                      pawl_reply* reply);
/* payload: the run's log, a JSON array; what pawl_context_create() takes. */
PAWL_API pawl_status pawl_client_history(pawl_engine engine, pawl_bytes run_id, uint64_t tag,
                                         pawl_reply* reply);
/* A text that names a promise of a run, and the parts of one. */
PAWL_API pawl_status pawl_promise_token(pawl_bytes run_id, pawl_bytes promise, pawl_buffer* token);
PAWL_API pawl_status pawl_promise_token_parts(pawl_bytes token, pawl_buffer* run_id,
                                              pawl_buffer* promise);

/* --- Tests: engines with is_test ----------------------------------------------------------------
 */

PAWL_API pawl_status pawl_test_now(pawl_engine engine, int64_t* now_ms);
/* Lets time pass, as fast as those who poll do what becomes due on the way. Answers, as a client's
 * call, when that moment is reached. */
PAWL_API pawl_status pawl_test_advance(pawl_engine engine, int64_t duration_ms, uint64_t tag,
                                       pawl_reply* reply);

#ifdef __cplusplus
}
#endif

#endif
