// The C ABI for the JVM: one function each, nothing decided here. Texts and payloads are byte
// arrays, since strings of JNI are not UTF-8. What a call of the ABI refuses is thrown as
// dev.pawl.NativeFailure(status, sentence). Numbers in blocks of bytes are in the machine's order.
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pawl.h"

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_dev_pawl_Native_##name

static jclass failure_class;
static jmethodID failure_constructor;
static jclass bytes_class;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  (void)reserved;
  JNIEnv* env = NULL;
  if ((*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_1_8) != JNI_OK) {
    return JNI_ERR;
  }
  jclass failure = (*env)->FindClass(env, "dev/pawl/NativeFailure");
  jclass bytes = failure == NULL ? NULL : (*env)->FindClass(env, "[B");
  if (bytes == NULL) {
    return JNI_ERR;
  }
  failure_class = (jclass)(*env)->NewGlobalRef(env, failure);
  bytes_class = (jclass)(*env)->NewGlobalRef(env, bytes);
  failure_constructor = (*env)->GetMethodID(env, failure_class, "<init>", "(I[B)V");
  return failure_constructor == NULL ? JNI_ERR : JNI_VERSION_1_8;
}

// --- Bytes ---------------------------------------------------------------------------------------

// Copies of arguments, for one call. Small ones need no memory of their own.
enum { kArgumentsMax = 12, kRoomBytes = 2048 };
typedef struct {
  JNIEnv* env;
  int is_out_of_memory;
  size_t used;
  size_t owned_count;
  void* owned[kArgumentsMax];
  char room[kRoomBytes];
} Arguments;

static void begin(Arguments* arguments, JNIEnv* env) {
  arguments->env = env;
  arguments->is_out_of_memory = 0;
  arguments->used = 0;
  arguments->owned_count = 0;
}

static pawl_bytes take(Arguments* arguments, jbyteArray array) {
  pawl_bytes bytes = {NULL, 0};
  JNIEnv* env = arguments->env;
  if (array == NULL) {
    return bytes;
  }
  const jsize size = (*env)->GetArrayLength(env, array);
  char* data = arguments->room + arguments->used;
  if ((size_t)size <= kRoomBytes - arguments->used) {
    arguments->used += (size_t)size;
  } else {
    data = malloc((size_t)size);
    if (data == NULL) {
      arguments->is_out_of_memory = 1;
      return bytes;
    }
    arguments->owned[arguments->owned_count++] = data;
  }
  (*env)->GetByteArrayRegion(env, array, 0, size, (jbyte*)data);
  bytes.data = data;
  bytes.size = (size_t)size;
  return bytes;
}

static void throw_failure(JNIEnv* env, pawl_status status, pawl_bytes text) {
  if ((*env)->ExceptionCheck(env)) {
    return;
  }
  jbyteArray message = (*env)->NewByteArray(env, (jsize)text.size);
  if (message == NULL) {
    return;
  }
  (*env)->SetByteArrayRegion(env, message, 0, (jsize)text.size, (const jbyte*)text.data);
  jobject failure =
      (*env)->NewObject(env, failure_class, failure_constructor, (jint)status, message);
  if (failure != NULL) {
    (*env)->Throw(env, (jthrowable)failure);
  }
}

// Throws unless the status is PAWL_OK; whether it is.
static int is_ok(JNIEnv* env, pawl_status status) {
  if (status != PAWL_OK) {
    throw_failure(env, status, pawl_last_error());
  }
  return status == PAWL_OK;
}

static int has_all(Arguments* arguments) {
  if (arguments->is_out_of_memory) {
    const char text[] = "out of memory for an argument";
    throw_failure(arguments->env, PAWL_INTERNAL, (pawl_bytes){text, sizeof(text) - 1});
  }
  return !arguments->is_out_of_memory;
}

static void release(Arguments* arguments) {
  for (size_t i = 0; i < arguments->owned_count; ++i) {
    free(arguments->owned[i]);
  }
}

// Makes the call if all arguments could be copied; throws what it refuses.
#define CALL(arguments, expression) is_ok(env, has_all(&(arguments)) ? (expression) : PAWL_INTERNAL)

static jbyteArray to_array(JNIEnv* env, pawl_bytes bytes) {
  if (bytes.size > INT32_MAX) {
    const char text[] = "a payload is too large for an array of Java";
    throw_failure(env, PAWL_LIMIT_EXCEEDED, (pawl_bytes){text, sizeof(text) - 1});
    return NULL;
  }
  jbyteArray array = (*env)->NewByteArray(env, (jsize)bytes.size);
  if (array != NULL && bytes.size > 0) {
    (*env)->SetByteArrayRegion(env, array, 0, (jsize)bytes.size, (const jbyte*)bytes.data);
  }
  return array;
}

static jbyteArray take_buffer(JNIEnv* env, pawl_buffer buffer) {
  pawl_bytes bytes;
  jbyteArray array = NULL;
  if (is_ok(env, pawl_buffer_data(buffer, &bytes))) {
    array = to_array(env, bytes);
  }
  pawl_buffer_free(buffer);
  return array;
}

// A block of bytes in the making.
typedef struct {
  char* data;
  size_t size;
  size_t room;
} Block;

static int put(Block* block, const void* data, size_t size) {
  if (block->room - block->size < size) {
    const size_t room = (block->size + size) * 2 + 256;
    char* grown = realloc(block->data, room);
    if (grown == NULL) {
      return 0;
    }
    block->data = grown;
    block->room = room;
  }
  if (size > 0) {
    memcpy(block->data + block->size, data, size);
  }
  block->size += size;
  return 1;
}
static int put_int(Block* block, int32_t number) { return put(block, &number, sizeof(number)); }
static int put_long(Block* block, int64_t number) { return put(block, &number, sizeof(number)); }
static int put_bytes(Block* block, pawl_bytes bytes) {
  return bytes.size <= INT32_MAX && put_int(block, (int32_t)bytes.size) &&
         put(block, bytes.data, bytes.size);
}

static jbyteArray end_block(JNIEnv* env, Block* block, int is_whole) {
  jbyteArray array = NULL;
  if (is_whole) {
    array = to_array(env, (pawl_bytes){block->data, block->size});
  } else {
    const char text[] = "out of memory for an answer, or it is too large";
    throw_failure(env, PAWL_INTERNAL, (pawl_bytes){text, sizeof(text) - 1});
  }
  free(block->data);
  return array;
}

static pawl_context context_of(jlong handle) { return (pawl_context)(intptr_t)handle; }
static pawl_engine engine_of(jlong handle) { return (pawl_engine)(intptr_t)handle; }
static jlong handle_of(const void* handle) { return (jlong)(intptr_t)handle; }

// --- Basics --------------------------------------------------------------------------------------

NATIVE(jint, abiVersion)(JNIEnv* env, jclass class) {
  (void)env;
  (void)class;
  return (jint)pawl_abi_version();
}
// The one that this file was compiled with.
NATIVE(jint, headerVersion)(JNIEnv* env, jclass class) {
  (void)env;
  (void)class;
  return PAWL_ABI_VERSION;
}
NATIVE(jstring, version)(JNIEnv* env, jclass class) {
  (void)class;
  return (*env)->NewStringUTF(env, pawl_version());
}
NATIVE(jstring, statusName)(JNIEnv* env, jclass class, jint status) {
  (void)class;
  return (*env)->NewStringUTF(env, pawl_status_name(status));
}

// All numbers of the header, as lines NAME=number: a test holds the Kotlin side to them.
#define NUMBER(name) {#name, name}
static const struct {
  const char* name;
  int number;
} kNumbers[] = {
    NUMBER(PAWL_OK),
    NUMBER(PAWL_INVALID_ARGUMENT),
    NUMBER(PAWL_INVALID_STATE),
    NUMBER(PAWL_LIMIT_EXCEEDED),
    NUMBER(PAWL_NOT_FOUND),
    NUMBER(PAWL_ALREADY_EXISTS),
    NUMBER(PAWL_CLOSED),
    NUMBER(PAWL_TIMED_OUT),
    NUMBER(PAWL_BAD_HANDLE),
    NUMBER(PAWL_BUSY),
    NUMBER(PAWL_INTERNAL),
    NUMBER(PAWL_DETERMINISM_VIOLATION),
    NUMBER(PAWL_CORRUPT_LOG),
    NUMBER(PAWL_MALFORMED_INPUT),
    NUMBER(PAWL_STORE_BUSY),
    NUMBER(PAWL_STORE_FULL),
    NUMBER(PAWL_STORE_IO),
    NUMBER(PAWL_STORE_CORRUPT),
    NUMBER(PAWL_STORE_UNUSABLE),
    NUMBER(PAWL_UNKNOWN_OUTCOME),
    NUMBER(PAWL_TASK),
    NUMBER(PAWL_OPERATION),
    NUMBER(PAWL_TIMER),
    NUMBER(PAWL_PROMISE),
    NUMBER(PAWL_CHILD),
    NUMBER(PAWL_STATE),
    NUMBER(PAWL_SIGNAL),
    NUMBER(PAWL_BRANCH),
    NUMBER(PAWL_LOOP),
    NUMBER(PAWL_VERSION_CHECK),
    NUMBER(PAWL_COMPENSATION),
    NUMBER(PAWL_CANCEL_TASK),
    NUMBER(PAWL_CANCEL_TIMER),
    NUMBER(PAWL_PENDING),
    NUMBER(PAWL_VALUE),
    NUMBER(PAWL_FAILED),
    NUMBER(PAWL_CANCELLED),
    NUMBER(PAWL_TIMEOUT),
    NUMBER(PAWL_STRICT),
    NUMBER(PAWL_PER_KIND),
    NUMBER(PAWL_BY_NAME),
    NUMBER(PAWL_AWAIT_ALL),
    NUMBER(PAWL_AWAIT_ANY),
    NUMBER(PAWL_AWAIT_BLOCKED),
    NUMBER(PAWL_AWAIT_READY),
    NUMBER(PAWL_AWAIT_CANCELLED),
    NUMBER(PAWL_END_COMPLETED),
    NUMBER(PAWL_END_FAILED),
    NUMBER(PAWL_END_CANCELLED),
    NUMBER(PAWL_END_RECURRED),
    NUMBER(PAWL_RUN_RUNNING),
    NUMBER(PAWL_RUN_WAITING),
    NUMBER(PAWL_RUN_COMPENSATING),
    NUMBER(PAWL_RUN_COMPLETED),
    NUMBER(PAWL_RUN_FAILED),
    NUMBER(PAWL_RUN_CANCELLED),
    NUMBER(PAWL_RUN_RECURRED),
    NUMBER(PAWL_RUN_BLOCKED),
    NUMBER(PAWL_EXISTING_RETURN),
    NUMBER(PAWL_EXISTING_FAIL),
    NUMBER(PAWL_EXISTING_REPLACE),
    NUMBER(PAWL_ON_CHANGE_VERIFY),
    NUMBER(PAWL_ON_CHANGE_REFUSE),
    NUMBER(PAWL_PARENT_CLOSE_CANCEL),
    NUMBER(PAWL_PARENT_CLOSE_ABANDON),
    NUMBER(PAWL_PARENT_CLOSE_TERMINATE),
    NUMBER(PAWL_EVENT_ACTIVATION),
    NUMBER(PAWL_EVENT_OPERATION),
    NUMBER(PAWL_EVENT_TASK),
    NUMBER(PAWL_EVENT_FORGET),
    NUMBER(PAWL_EVENT_REPLY),
    NUMBER(PAWL_EVENT_TROUBLE),
};

NATIVE(jbyteArray, numbers)(JNIEnv* env, jclass class) {
  (void)class;
  Block block = {NULL, 0, 0};
  int is_whole = 1;
  for (size_t i = 0; i < sizeof(kNumbers) / sizeof(kNumbers[0]); ++i) {
    char digits[16];
    size_t count = 0;
    int number = kNumbers[i].number;  // None is negative.
    do {
      digits[sizeof(digits) - ++count] = (char)('0' + number % 10);
      number /= 10;
    } while (number != 0);
    is_whole = is_whole && put(&block, kNumbers[i].name, strlen(kNumbers[i].name)) &&
               put(&block, "=", 1) && put(&block, digits + sizeof(digits) - count, count) &&
               put(&block, "\n", 1);
  }
  return end_block(env, &block, is_whole);
}

// `attempts` negative: NULL, the default of whoever takes it.
static const pawl_retry* fill_retry(pawl_retry* retry, jint attempts, jlong initial, jlong maximum,
                                    jdouble factor, jdouble jitter, pawl_bytes types) {
  if (attempts < 0) {
    return NULL;
  }
  *retry = (pawl_retry){.size = sizeof(*retry),
                        .attempts = (uint32_t)attempts,
                        .initial_ms = initial,
                        .maximum_ms = maximum,
                        .factor = factor,
                        .jitter = jitter,
                        .final_types = types};
  return retry;
}

static void fill_failure(pawl_failure* failure, Arguments* arguments, jbyteArray type,
                         jbyteArray message, jbyteArray details, jboolean is_final,
                         jboolean is_cancelled, jlong next_delay) {
  *failure = (pawl_failure){.size = sizeof(*failure),
                            .type = take(arguments, type),
                            .message = take(arguments, message),
                            .details = take(arguments, details),
                            .is_final = is_final,
                            .is_cancelled = is_cancelled,
                            .has_next_delay = next_delay >= 0,
                            .next_delay_ms = next_delay};
}

// --- Contexts ------------------------------------------------------------------------------------

NATIVE(jlong, contextCreate)(JNIEnv* env, jclass class, jbyteArray run_id, jint matching,
                             jlong started_at, jbyteArray history, jbyteArray then,
                             jbyteArray now) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_context_options options = {.size = sizeof(options),
                                        .run_id = take(&arguments, run_id),
                                        .matching = matching,
                                        .started_at_ms = started_at,
                                        .history = take(&arguments, history),
                                        .definition_then = take(&arguments, then),
                                        .definition_now = take(&arguments, now)};
  pawl_context context = NULL;
  CALL(arguments, pawl_context_create(&options, &context));
  release(&arguments);
  return handle_of(context);
}
NATIVE(void, contextFree)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  is_ok(env, pawl_context_free(context_of(context)));
}
NATIVE(void, contextSetTime)(JNIEnv* env, jclass class, jlong context, jlong now) {
  (void)class;
  is_ok(env, pawl_context_set_time(context_of(context), now));
}

static pawl_command read_command(Arguments* arguments, jint kind, jint branch, jbyteArray name,
                                 jbyteArray child_kind, jint target, jbyteArray step_key,
                                 jint version, jbyteArray source, jbyteArray payload,
                                 jboolean clear, jlong number, jint checkpoint_every,
                                 jbyteArray extra) {
  return (pawl_command){.size = sizeof(pawl_command),
                        .kind = kind,
                        .branch = (pawl_branch)branch,
                        .name = take(arguments, name),
                        .child_kind = take(arguments, child_kind),
                        .target = (pawl_future)target,
                        .step_key = take(arguments, step_key),
                        .version = (uint32_t)version,
                        .source = take(arguments, source),
                        .has_payload = payload != NULL,
                        .payload = take(arguments, payload),
                        .clear = clear,
                        .number = number,
                        .checkpoint_every = (uint32_t)checkpoint_every,
                        .extra = take(arguments, extra)};
}

// `out`: future, branch, must_execute.
NATIVE(void, contextOpen)(JNIEnv* env, jclass class, jlong context, jint kind, jint branch,
                          jbyteArray name, jbyteArray child_kind, jint target, jbyteArray step_key,
                          jint version, jbyteArray source, jbyteArray payload, jboolean clear,
                          jlong number, jint checkpoint_every, jbyteArray extra, jintArray out) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_command command =
      read_command(&arguments, kind, branch, name, child_kind, target, step_key, version, source,
                   payload, clear, number, checkpoint_every, extra);
  pawl_opened opened;
  if (CALL(arguments, pawl_context_open(context_of(context), &command, &opened))) {
    const jint numbers[] = {(jint)opened.future, (jint)opened.branch, opened.must_execute};
    (*env)->SetIntArrayRegion(env, out, 0, 3, numbers);
  }
  release(&arguments);
}
NATIVE(void, contextRemoved)(JNIEnv* env, jclass class, jlong context, jint kind, jint branch,
                             jbyteArray name, jbyteArray step_key, jint version,
                             jbyteArray source) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_command command = read_command(&arguments, kind, branch, name, NULL, 0, step_key,
                                            version, source, NULL, 0, 0, 0, NULL);
  CALL(arguments, pawl_context_removed(context_of(context), &command));
  release(&arguments);
}
NATIVE(void, contextComplete)(JNIEnv* env, jclass class, jlong context, jint future, jint outcome,
                              jbyteArray payload) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes bytes = take(&arguments, payload);
  CALL(arguments, pawl_context_complete(context_of(context), (pawl_future)future, outcome, bytes));
  release(&arguments);
}
NATIVE(jint, contextCheckVersion)(JNIEnv* env, jclass class, jlong context, jint branch,
                                  jint latest, jbyteArray source) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes where = take(&arguments, source);
  uint32_t version = 0;
  CALL(arguments, pawl_context_check_version(context_of(context), (pawl_branch)branch,
                                             (uint32_t)latest, where, &version));
  release(&arguments);
  return (jint)version;
}
NATIVE(void, contextCloseBranch)(JNIEnv* env, jclass class, jlong context, jint branch) {
  (void)class;
  is_ok(env, pawl_context_close_branch(context_of(context), (pawl_branch)branch));
}

// finished (long), is_done (int), state, result.
NATIVE(jbyteArray, contextLoopPosition)(JNIEnv* env, jclass class, jlong context, jint loop) {
  (void)class;
  pawl_loop_position position;
  if (!is_ok(env, pawl_context_loop_position(context_of(context), (pawl_branch)loop, &position))) {
    return NULL;
  }
  Block block = {NULL, 0, 0};
  const int is_whole = put_long(&block, (int64_t)position.finished) &&
                       put_int(&block, position.is_done) && put_bytes(&block, position.state) &&
                       put_bytes(&block, position.result);
  return end_block(env, &block, is_whole);
}
NATIVE(jint, contextEnterIteration)(JNIEnv* env, jclass class, jlong context, jint loop) {
  (void)class;
  pawl_branch iteration = 0;
  is_ok(env, pawl_context_enter_iteration(context_of(context), (pawl_branch)loop, &iteration));
  return (jint)iteration;
}
NATIVE(jint, contextContinueLoop)(JNIEnv* env, jclass class, jlong context, jint loop,
                                  jbyteArray state) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes bytes = take(&arguments, state);
  pawl_future checkpoint = 0;
  CALL(arguments,
       pawl_context_continue_loop(context_of(context), (pawl_branch)loop, bytes, &checkpoint));
  release(&arguments);
  return (jint)checkpoint;
}
NATIVE(jint, contextEndLoop)(JNIEnv* env, jclass class, jlong context, jint loop, jbyteArray state,
                             jbyteArray result) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes last = take(&arguments, state);
  const pawl_bytes value = take(&arguments, result);
  pawl_future checkpoint = 0;
  CALL(arguments,
       pawl_context_end_loop(context_of(context), (pawl_branch)loop, last, value, &checkpoint));
  release(&arguments);
  return (jint)checkpoint;
}
NATIVE(void, contextAbandonLoop)(JNIEnv* env, jclass class, jlong context, jint loop) {
  (void)class;
  is_ok(env, pawl_context_abandon_loop(context_of(context), (pawl_branch)loop));
}

// outcome, has_payload (ints), payload, extra.
static jbyteArray outcome_block(JNIEnv* env, const pawl_outcome* outcome) {
  Block block = {NULL, 0, 0};
  const int is_whole = put_int(&block, outcome->outcome) && put_int(&block, outcome->has_payload) &&
                       put_bytes(&block, outcome->payload) && put_bytes(&block, outcome->extra);
  return end_block(env, &block, is_whole);
}
NATIVE(jbyteArray, contextOutcome)(JNIEnv* env, jclass class, jlong context, jint future) {
  (void)class;
  pawl_outcome outcome;
  if (!is_ok(env, pawl_context_outcome(context_of(context), (pawl_future)future, &outcome))) {
    return NULL;
  }
  return outcome_block(env, &outcome);
}
NATIVE(jbyteArray, contextTakeSignal)(JNIEnv* env, jclass class, jlong context, jint branch,
                                      jbyteArray name) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes text = take(&arguments, name);
  pawl_outcome outcome;
  jbyteArray block = NULL;
  if (CALL(arguments,
           pawl_context_take_signal(context_of(context), (pawl_branch)branch, text, &outcome)) &&
      outcome.outcome != PAWL_PENDING) {
    block = outcome_block(env, &outcome);
  }
  release(&arguments);
  return block;
}
NATIVE(jbyteArray, contextCommandId)(JNIEnv* env, jclass class, jlong context, jint future) {
  (void)class;
  pawl_bytes id;
  if (!is_ok(env, pawl_context_command_id(context_of(context), (pawl_future)future, &id))) {
    return NULL;
  }
  return to_array(env, id);
}

// `out`: the await, its state, what decided it.
NATIVE(void, contextBeginAwait)(JNIEnv* env, jclass class, jlong context, jint mode,
                                jintArray futures, jboolean is_shielded, jlongArray out) {
  (void)class;
  const jsize count = (*env)->GetArrayLength(env, futures);
  enum { kFew = 16 };
  pawl_future few[kFew];
  pawl_future* ids = count <= kFew ? few : malloc(sizeof(pawl_future) * (size_t)count);
  if (ids == NULL) {
    const char text[] = "out of memory for an await";
    throw_failure(env, PAWL_INTERNAL, (pawl_bytes){text, sizeof(text) - 1});
    return;
  }
  (*env)->GetIntArrayRegion(env, futures, 0, count, (jint*)ids);
  pawl_await_state begun;
  if (is_ok(env, pawl_context_begin_await(context_of(context), mode, ids, (size_t)count,
                                          is_shielded, &begun))) {
    const jlong numbers[] = {(jlong)begun.id, begun.state, (jlong)begun.decided_by};
    (*env)->SetLongArrayRegion(env, out, 0, 3, numbers);
  }
  if (ids != few) {
    free(ids);
  }
}
// Await, state, what decided it, of each await that is over; NULL: nothing is left to deliver.
// The future that it completes, then three numbers for each await. NULL: nothing is left.
NATIVE(jlongArray, contextNextDelivery)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  pawl_delivery delivery;
  if (!is_ok(env, pawl_context_next_delivery(context_of(context), &delivery)) ||
      !delivery.is_there) {
    return NULL;
  }
  jlongArray woken = (*env)->NewLongArray(env, 1 + 3 * (jsize)delivery.woken_count);
  if (woken != NULL) {
    const jlong future = delivery.future;
    (*env)->SetLongArrayRegion(env, woken, 0, 1, &future);
  }
  for (size_t i = 0; woken != NULL && i < delivery.woken_count; ++i) {
    const pawl_await_state* over = &delivery.woken[i];
    const jlong numbers[] = {(jlong)over->id, over->state, (jlong)over->decided_by};
    (*env)->SetLongArrayRegion(env, woken, 1 + 3 * (jsize)i, 3, numbers);
  }
  return woken;
}

NATIVE(jlong, contextNow)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  int64_t now = 0;
  is_ok(env, pawl_context_now(context_of(context), &now));
  return now;
}
// The reason; NULL: no cancel request has been delivered.
NATIVE(jbyteArray, contextCancelled)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  int32_t is_requested = 0;
  pawl_bytes reason;
  if (!is_ok(env, pawl_context_cancelled(context_of(context), &is_requested, &reason)) ||
      !is_requested) {
    return NULL;
  }
  return to_array(env, reason);
}
NATIVE(jbyteArray, contextState)(JNIEnv* env, jclass class, jlong context, jbyteArray key) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes name = take(&arguments, key);
  int32_t is_set = 0;
  pawl_bytes value;
  jbyteArray array = NULL;
  if (CALL(arguments, pawl_context_state(context_of(context), name, &is_set, &value)) && is_set) {
    array = to_array(env, value);
  }
  release(&arguments);
  return array;
}
NATIVE(jstring, contextUuid)(JNIEnv* env, jclass class, jlong context, jint branch) {
  (void)class;
  char uuid[37];
  if (!is_ok(env, pawl_context_uuid(context_of(context), (pawl_branch)branch, uuid))) {
    return NULL;
  }
  return (*env)->NewStringUTF(env, uuid);
}
NATIVE(jlong, contextRandom)(JNIEnv* env, jclass class, jlong context, jint branch) {
  (void)class;
  uint64_t random = 0;
  is_ok(env, pawl_context_random(context_of(context), (pawl_branch)branch, &random));
  return (jlong)random;
}
NATIVE(jlong, contextSignalCount)(JNIEnv* env, jclass class, jlong context, jbyteArray name) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes text = take(&arguments, name);
  size_t count = 0;
  CALL(arguments, pawl_context_signal_count(context_of(context), text, &count));
  release(&arguments);
  return (jlong)count;
}
NATIVE(void, contextFinish)(JNIEnv* env, jclass class, jlong context, jint end,
                            jbyteArray payload) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes bytes = take(&arguments, payload);
  CALL(arguments, pawl_context_finish(context_of(context), end, bytes));
  release(&arguments);
}
NATIVE(jbyteArray, contextTakeNew)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  pawl_buffer entries;
  return is_ok(env, pawl_context_take_new(context_of(context), &entries))
             ? take_buffer(env, entries)
             : NULL;
}
NATIVE(jbyteArray, contextReport)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  pawl_buffer report;
  return is_ok(env, pawl_context_report(context_of(context), &report)) ? take_buffer(env, report)
                                                                       : NULL;
}
// Its texts in the order of the struct; NULL: there is none.
NATIVE(jobjectArray, contextViolation)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  pawl_violation found = {.size = sizeof(found)};
  if (!is_ok(env, pawl_context_violation(context_of(context), &found)) || !found.is_there) {
    return NULL;
  }
  const pawl_bytes texts[] = {
      found.code,        found.headline,    found.run_id,          found.location,
      found.label,       found.recorded,    found.asked,           found.source_now,
      found.source_then, found.last_agreed, found.definition_then, found.definition_now,
      found.advice,      found.text};
  const jsize count = (jsize)(sizeof(texts) / sizeof(texts[0]));
  jobjectArray array = (*env)->NewObjectArray(env, count, bytes_class, NULL);
  for (jsize i = 0; array != NULL && i < count; ++i) {
    jbyteArray text = to_array(env, texts[i]);
    if (text == NULL) {
      return NULL;
    }
    (*env)->SetObjectArrayElement(env, array, i, text);
    (*env)->DeleteLocalRef(env, text);
  }
  return array;
}

NATIVE(void, contextExecute)(JNIEnv* env, jclass class, jlong context, jint future, jint attempts,
                             jlong initial, jlong maximum, jdouble factor, jdouble jitter,
                             jbyteArray types, jlong timeout) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  pawl_retry room;
  const pawl_retry* retry =
      fill_retry(&room, attempts, initial, maximum, factor, jitter, take(&arguments, types));
  CALL(arguments, pawl_context_execute(context_of(context), (pawl_future)future, retry, timeout));
  release(&arguments);
}
NATIVE(void, contextSend)(JNIEnv* env, jclass class, jlong context, jint future, jbyteArray run_id,
                          jbyteArray signal, jbyteArray payload, jbyteArray extra,
                          jbyteArray dedupe) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes to = take(&arguments, run_id);
  const pawl_bytes name = take(&arguments, signal);
  const pawl_bytes bytes = take(&arguments, payload);
  const pawl_bytes attributes = take(&arguments, extra);
  const pawl_bytes once = take(&arguments, dedupe);
  CALL(arguments, pawl_context_send(context_of(context), (pawl_future)future, to, name, bytes,
                                    attributes, once));
  release(&arguments);
}
NATIVE(void, contextYield)(JNIEnv* env, jclass class, jlong context) {
  (void)class;
  is_ok(env, pawl_context_yield(context_of(context)));
}

NATIVE(jbyteArray, taskExtra)(JNIEnv* env, jclass class, jbyteArray queue, jint priority,
                              jlong wait_timeout, jlong attempt_timeout, jlong total_timeout,
                              jlong heartbeat_timeout, jint attempts, jlong initial, jlong maximum,
                              jdouble factor, jdouble jitter, jbyteArray types) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  pawl_retry room;
  const pawl_task_options options = {.size = sizeof(options),
                                     .queue = take(&arguments, queue),
                                     .priority = priority,
                                     .wait_timeout_ms = wait_timeout,
                                     .attempt_timeout_ms = attempt_timeout,
                                     .total_timeout_ms = total_timeout,
                                     .heartbeat_timeout_ms = heartbeat_timeout,
                                     .retry = fill_retry(&room, attempts, initial, maximum, factor,
                                                         jitter, take(&arguments, types))};
  pawl_buffer extra;
  jbyteArray array =
      CALL(arguments, pawl_task_extra(&options, &extra)) ? take_buffer(env, extra) : NULL;
  release(&arguments);
  return array;
}
NATIVE(jbyteArray, childExtra)(JNIEnv* env, jclass class, jint parent_close, jbyteArray tags) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes json = take(&arguments, tags);
  pawl_buffer extra;
  jbyteArray array = CALL(arguments, pawl_child_extra(parent_close, json, &extra))
                         ? take_buffer(env, extra)
                         : NULL;
  release(&arguments);
  return array;
}
NATIVE(jbyteArray, promiseToken)(JNIEnv* env, jclass class, jbyteArray run_id, jbyteArray promise) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  const pawl_bytes name = take(&arguments, promise);
  pawl_buffer token;
  jbyteArray array =
      CALL(arguments, pawl_promise_token(run, name, &token)) ? take_buffer(env, token) : NULL;
  release(&arguments);
  return array;
}
// The run's id and the promise.
NATIVE(jobjectArray, promiseTokenParts)(JNIEnv* env, jclass class, jbyteArray token) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes text = take(&arguments, token);
  pawl_buffer run_id;
  pawl_buffer promise;
  jobjectArray parts = NULL;
  if (CALL(arguments, pawl_promise_token_parts(text, &run_id, &promise))) {
    jbyteArray first = take_buffer(env, run_id);
    jbyteArray second = take_buffer(env, promise);
    parts = (*env)->NewObjectArray(env, 2, bytes_class, NULL);
    if (parts != NULL) {
      (*env)->SetObjectArrayElement(env, parts, 0, first);
      (*env)->SetObjectArrayElement(env, parts, 1, second);
    }
  }
  release(&arguments);
  return parts;
}

// --- Engines -------------------------------------------------------------------------------------

NATIVE(jlong, engineOpen)(JNIEnv* env, jclass class, jbyteArray url, jbyteArray worker_name,
                          jlong lease, jlong cache_bytes, jlong payload_bytes_max,
                          jbyteArray queues, jboolean is_test, jboolean replay_every_turn) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_engine_options options = {.size = sizeof(options),
                                       .url = take(&arguments, url),
                                       .worker_name = take(&arguments, worker_name),
                                       .lease_ms = lease,
                                       .cache_bytes = (uint64_t)cache_bytes,
                                       .payload_bytes_max = (uint64_t)payload_bytes_max,
                                       .queues = take(&arguments, queues),
                                       .is_test = is_test,
                                       .replay_every_turn = replay_every_turn};
  pawl_engine engine = NULL;
  CALL(arguments, pawl_engine_open(&options, &engine));
  release(&arguments);
  return handle_of(engine);
}
NATIVE(void, engineAddWorkflow)(JNIEnv* env, jclass class, jlong engine, jbyteArray kind,
                                jint matching, jbyteArray fingerprint, jint on_change) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_workflow_options options = {.size = sizeof(options),
                                         .kind = take(&arguments, kind),
                                         .matching = matching,
                                         .fingerprint = take(&arguments, fingerprint),
                                         .on_change = on_change};
  CALL(arguments, pawl_engine_add_workflow(engine_of(engine), &options));
  release(&arguments);
}
NATIVE(void, engineAddActivity)(JNIEnv* env, jclass class, jlong engine, jbyteArray name,
                                jint attempts, jlong initial, jlong maximum, jdouble factor,
                                jdouble jitter, jbyteArray types) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes text = take(&arguments, name);
  pawl_retry room;
  const pawl_retry* retry =
      fill_retry(&room, attempts, initial, maximum, factor, jitter, take(&arguments, types));
  CALL(arguments, pawl_engine_add_activity(engine_of(engine), text, retry));
  release(&arguments);
}
NATIVE(void, engineStart)(JNIEnv* env, jclass class, jlong engine) {
  (void)class;
  is_ok(env, pawl_engine_start(engine_of(engine)));
}
NATIVE(void, engineStop)(JNIEnv* env, jclass class, jlong engine) {
  (void)class;
  is_ok(env, pawl_engine_stop(engine_of(engine)));
}
NATIVE(void, engineFree)(JNIEnv* env, jclass class, jlong engine) {
  (void)class;
  is_ok(env, pawl_engine_free(engine_of(engine)));
}

static int put_event(Block* block, const pawl_event* event) {
  return put_int(block, event->kind) && put_int(block, event->is_new) &&
         put_long(block, handle_of(event->context)) && put_long(block, (int64_t)event->attempt) &&
         put_int(block, (int32_t)event->future) && put_int(block, (int32_t)event->number) &&
         put_int(block, event->status) && put_int(block, event->run_status) &&
         put_int(block, event->flag) && put_bytes(block, event->run_id) &&
         put_bytes(block, event->run_uuid) && put_bytes(block, event->name) &&
         put_bytes(block, event->payload) && put_bytes(block, event->key) &&
         put_bytes(block, event->details);
}
// All events in one block: their count, then the fields of each.
NATIVE(jbyteArray, enginePoll)(JNIEnv* env, jclass class, jlong engine, jint kinds, jint limit,
                               jlong timeout) {
  (void)class;
  pawl_events events;
  if (!is_ok(env, pawl_engine_poll(engine_of(engine), (uint32_t)kinds, (size_t)limit, timeout,
                                   &events))) {
    return NULL;
  }
  Block block = {NULL, 0, 0};
  int is_whole = put_int(&block, (int32_t)events.count);
  const char* next = (const char*)events.first;
  for (size_t i = 0; i < events.count; ++i, next += events.stride) {
    is_whole = is_whole && put_event(&block, (const pawl_event*)next);
  }
  pawl_events_free(events.list);
  return end_block(env, &block, is_whole);
}

NATIVE(void, attemptComplete)(JNIEnv* env, jclass class, jlong engine, jlong attempt,
                              jbyteArray result) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes bytes = take(&arguments, result);
  CALL(arguments, pawl_attempt_complete(engine_of(engine), (uint64_t)attempt, bytes));
  release(&arguments);
}
NATIVE(void, attemptFail)(JNIEnv* env, jclass class, jlong engine, jlong attempt, jbyteArray type,
                          jbyteArray message, jbyteArray details, jboolean is_final,
                          jboolean is_cancelled, jlong next_delay) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  pawl_failure failure;
  fill_failure(&failure, &arguments, type, message, details, is_final, is_cancelled, next_delay);
  CALL(arguments, pawl_attempt_fail(engine_of(engine), (uint64_t)attempt, &failure));
  release(&arguments);
}
NATIVE(jboolean, attemptHeartbeat)(JNIEnv* env, jclass class, jlong engine, jlong attempt,
                                   jbyteArray details) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes bytes = take(&arguments, details);
  int32_t should_stop = 1;
  CALL(arguments,
       pawl_attempt_heartbeat(engine_of(engine), (uint64_t)attempt, bytes, &should_stop));
  release(&arguments);
  return should_stop != 0;
}
NATIVE(jboolean, attemptShouldStop)(JNIEnv* env, jclass class, jlong engine, jlong attempt) {
  (void)class;
  int32_t should_stop = 1;
  is_ok(env, pawl_attempt_should_stop(engine_of(engine), (uint64_t)attempt, &should_stop));
  return should_stop != 0;
}

// --- Clients: all answers come as events ---------------------------------------------------------

NATIVE(void, clientStart)(JNIEnv* env, jclass class, jlong engine, jbyteArray kind, jbyteArray id,
                          jbyteArray input, jint on_existing, jbyteArray tags, jbyteArray signal,
                          jbyteArray signal_payload, jbyteArray signal_event, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_start_options options = {.size = sizeof(options),
                                      .kind = take(&arguments, kind),
                                      .id = take(&arguments, id),
                                      .input = take(&arguments, input),
                                      .on_existing = on_existing,
                                      .tags = take(&arguments, tags),
                                      .signal = take(&arguments, signal),
                                      .signal_payload = take(&arguments, signal_payload),
                                      .signal_event = take(&arguments, signal_event)};
  CALL(arguments, pawl_client_start(engine_of(engine), &options, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientResult)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  CALL(arguments, pawl_client_result(engine_of(engine), run, -1, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientSignal)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                           jbyteArray signal, jbyteArray payload, jbyteArray event, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  const pawl_bytes name = take(&arguments, signal);
  const pawl_bytes bytes = take(&arguments, payload);
  const pawl_bytes attributes = take(&arguments, event);
  CALL(arguments,
       pawl_client_signal(engine_of(engine), run, name, bytes, attributes, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientResolve)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                            jbyteArray promise, jbyteArray payload, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  const pawl_bytes name = take(&arguments, promise);
  const pawl_bytes bytes = take(&arguments, payload);
  CALL(arguments, pawl_client_resolve(engine_of(engine), run, name, bytes, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientReject)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                           jbyteArray promise, jbyteArray type, jbyteArray message,
                           jbyteArray details, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  const pawl_bytes name = take(&arguments, promise);
  pawl_failure failure;
  fill_failure(&failure, &arguments, type, message, details, 0, 0, -1);
  CALL(arguments, pawl_client_reject(engine_of(engine), run, name, &failure, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientCancel)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                           jbyteArray reason, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  const pawl_bytes text = take(&arguments, reason);
  CALL(arguments, pawl_client_cancel(engine_of(engine), run, text, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientTerminate)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                              jbyteArray reason, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  const pawl_bytes text = take(&arguments, reason);
  CALL(arguments, pawl_client_terminate(engine_of(engine), run, text, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientPause)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                          jboolean is_paused, jlong tag) {
  (void)class;
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes run = take(&arguments, run_id);
  CALL(arguments, pawl_client_pause(engine_of(engine), run, is_paused, (uint64_t)tag, NULL));
  release(&arguments);
}

typedef pawl_status (*Ask)(pawl_engine, pawl_bytes, uint64_t, pawl_reply*);
static void ask(JNIEnv* env, Ask call, jlong engine, jbyteArray argument, jlong tag) {
  Arguments arguments;
  begin(&arguments, env);
  const pawl_bytes text = take(&arguments, argument);
  CALL(arguments, call(engine_of(engine), text, (uint64_t)tag, NULL));
  release(&arguments);
}
NATIVE(void, clientResume)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id, jlong tag) {
  (void)class;
  ask(env, pawl_client_resume, engine, run_id, tag);
}
NATIVE(void, clientDescribe)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id,
                             jlong tag) {
  (void)class;
  ask(env, pawl_client_describe, engine, run_id, tag);
}
NATIVE(void, clientList)(JNIEnv* env, jclass class, jlong engine, jbyteArray query, jlong tag) {
  (void)class;
  ask(env, pawl_client_list, engine, query, tag);
}
NATIVE(void, clientHistory)(JNIEnv* env, jclass class, jlong engine, jbyteArray run_id, jlong tag) {
  (void)class;
  ask(env, pawl_client_history, engine, run_id, tag);
}

NATIVE(jlong, testNow)(JNIEnv* env, jclass class, jlong engine) {
  (void)class;
  int64_t now = 0;
  is_ok(env, pawl_test_now(engine_of(engine), &now));
  return now;
}
NATIVE(void, testAdvance)(JNIEnv* env, jclass class, jlong engine, jlong duration, jlong tag) {
  (void)class;
  is_ok(env, pawl_test_advance(engine_of(engine), duration, (uint64_t)tag, NULL));
}
