#include "capi/context.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/uuid.h"
#include "capi/basics.h"
#include "capi/call.h"
#include "format/entry_json.h"
#include "format/json_printer.h"
#include "format/json_reader.h"
#include "format/log_json.h"

namespace pawl::capi {

namespace {

// Never destroyed: threads may outlive main().
union Forever {
  constexpr Forever() : handles() {}
  ~Forever() {}  // NOLINT(modernize-use-equals-default): that would not compile.
  ContextHandles handles;
};
constinit Forever forever;

}  // namespace

ContextHandles& contexts() { return forever.handles; }

namespace {

namespace json = boost::json;

// `body`: CallEnd(Context&).
template <class Body>
pawl_status with_context(pawl_context handle, const Body& body) noexcept {
  return call([&]() -> CallEnd {
    const ContextHandles::Use use = forever.handles.try_use(handle);
    if (!use) [[unlikely]] {
      return contexts().why_not(handle, "context");
    }
    if (use->try_machine() == nullptr) [[unlikely]] {
      return make_error(ErrorCode::kInvalidState,
                        "this context is with its engine: it can be used from its activation "
                        "until pawl_context_yield()");
    }
    return body(*use);
  });
}

// The same for what only one kind of context can do.
template <class Body>
pawl_status with_own(pawl_context handle, const Body& body) noexcept {
  return with_context(handle, [&](Context& context) -> CallEnd {
    if (!context.is_own()) {
      return make_error(ErrorCode::kInvalidState, "this context is an engine's, which does that");
    }
    return body(context);
  });
}
template <class Body>
pawl_status with_engines(pawl_context handle, const Body& body) noexcept {
  return with_context(handle, [&](Context& context) -> CallEnd {
    if (context.is_own()) {
      return make_error(ErrorCode::kInvalidState, "this context has no engine");
    }
    return body(context);
  });
}

template <class... Outs>
bool are_there(const Outs*... outs) {
  return (static_cast<bool>(outs) && ...);
}
Error nowhere_to_answer() { return null_argument("where to put the answer"); }

// As read_bytes() and read_text() find it, without a word about what is wrong.
bool is_there(pawl_bytes given) { return given.size == 0 || given.data != nullptr; }
bool is_text(pawl_bytes given) {
  return given.size == 0 || (given.data != nullptr && is_utf8({given.data, given.size}));
}
std::string_view view(pawl_bytes given) { return {given.data, given.size}; }

// False: bad_command() says why.
bool is_right(const pawl_command& command, std::size_t payload_bytes_max) {
  return command.kind >= PAWL_TASK && command.kind <= PAWL_CANCEL_TIMER && command.number >= 0 &&
         is_text(command.name) && is_text(command.child_kind) && is_text(command.step_key) &&
         is_text(command.source) && is_text(command.extra) &&
         (command.has_payload == 0 ||
          (is_there(command.payload) && command.payload.size <= payload_bytes_max));
}

replay::CommandRequest to_request(const pawl_command& command) {
  const bool has_payload = command.has_payload != 0;
  return {.kind = static_cast<replay::CommandKind>(command.kind),
          .branch = command.branch,
          .name = view(command.name),
          .child_kind = view(command.child_kind),
          .target = command.target,
          .step_key = view(command.step_key),
          .version = command.version,
          .source = view(command.source),
          .has_payload = has_payload,
          .payload = has_payload ? view(command.payload) : std::string_view(),
          .clear = command.clear != 0,
          .number = command.number,
          .checkpoint_every = command.checkpoint_every != 0 ? command.checkpoint_every
                                                            : replay::kCheckpointEveryDefault,
          .extra = view(command.extra)};
}

CallEnd bad_command(const pawl_command& command, std::size_t payload_bytes_max) {
  if (command.kind < PAWL_TASK || command.kind > PAWL_CANCEL_TIMER) {
    return wrong_number("command.kind", command.kind);
  }
  const std::pair<pawl_bytes, const char*> texts[] = {{command.name, "command.name"},
                                                      {command.child_kind, "command.child_kind"},
                                                      {command.step_key, "command.step_key"},
                                                      {command.source, "command.source"},
                                                      {command.extra, "command.extra"}};
  for (const auto& [text, what] : texts) {
    PAWL_TRY(read_text(text, what));
  }
  if (command.has_payload != 0) {
    PAWL_TRY_ASSIGN(const std::string_view payload, read_bytes(command.payload, "command.payload"));
    PAWL_TRY(check_size(payload, payload_bytes_max, "command.payload"));
  }
  return wrong_number("command.number", command.number);
}

// The core's own, which callers read as it is.
static_assert(sizeof(pawl_await_state) == sizeof(replay::AwaitStatus));
static_assert(offsetof(pawl_await_state, id) == offsetof(replay::AwaitStatus, await));
static_assert(offsetof(pawl_await_state, state) == offsetof(replay::AwaitStatus, state));
static_assert(offsetof(pawl_await_state, decided_by) == offsetof(replay::AwaitStatus, decided_by));
const pawl_await_state* to_states(const std::vector<replay::AwaitStatus>& statuses) {
  return reinterpret_cast<const pawl_await_state*>(statuses.data());
}

Result<void> fill(const Context& context, pawl_violation& out) {
  const std::optional<replay::Violation>& found = context.machine().violation();
  out.is_there = found.has_value() ? 1 : 0;
  if (found) {
    const replay::Violation& violation = *found;
    out.code = to_bytes(violation.code);
    out.headline = to_bytes(violation.headline);
    out.run_id = to_bytes(violation.run_id);
    out.location = to_bytes(violation.location);
    out.label = to_bytes(violation.label);
    out.recorded = to_bytes(violation.recorded);
    out.asked = to_bytes(violation.asked);
    out.source_now = to_bytes(violation.source_now);
    out.source_then = to_bytes(violation.source_then);
    out.last_agreed = to_bytes(violation.last_agreed);
    out.definition_then = to_bytes(violation.definition_then);
    out.definition_now = to_bytes(violation.definition_now);
    out.advice = to_bytes(violation.advice);
    out.text = to_bytes(context.violation_text);
  }
  return {};
}

json::array texts_of(const std::vector<replay::Location>& locations) {
  json::array texts;
  for (const replay::Location& location : locations) {
    texts.emplace_back(location.to_string());
  }
  return texts;
}

}  // namespace
}  // namespace pawl::capi

using namespace pawl;  // NOLINT(google-build-using-namespace): only functions of the ABI follow.
using namespace pawl::capi;  // NOLINT(google-build-using-namespace)

// --- Life ----------------------------------------------------------------------------------------

pawl_status pawl_context_create(const pawl_context_options* given, pawl_context* context) {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(const pawl_context_options options, read_struct(given, "options"));
    if (!are_there(context)) [[unlikely]] {
      return nowhere_to_answer();
    }
    replay::RunInfo info;
    PAWL_TRY_ASSIGN(const std::string_view id, read_text(options.run_id, "options.run_id"));
    if (!id.empty()) {
      const std::optional<Uuid> uuid = Uuid::parse(id);
      if (!uuid) {
        return make_error(ErrorCode::kInvalidArgument, "options.run_id is no UUID");
      }
      info.run_id = *uuid;
    }
    if (options.matching < PAWL_STRICT || options.matching > PAWL_BY_NAME) {
      return wrong_number("options.matching", options.matching);
    }
    info.matching = static_cast<replay::Matching>(options.matching);
    info.started_at_ms = options.started_at_ms;
    PAWL_TRY_ASSIGN(info.definition_then,
                    read_text(options.definition_then, "options.definition_then"));
    PAWL_TRY_ASSIGN(info.definition_now,
                    read_text(options.definition_now, "options.definition_now"));
    PAWL_TRY_ASSIGN(const std::string_view history, read_text(options.history, "options.history"));
    PAWL_TRY_ASSIGN(replay::Log log, format::import_log(history.empty() ? "[]" : history,
                                                        {info.run_id, info.started_at_ms}));
    PAWL_TRY_ASSIGN(std::unique_ptr<replay::Machine> machine,
                    replay::Machine::create(std::move(info), std::move(log)));
    auto created = std::make_unique<Context>(std::move(machine));
    *context = contexts().add(created.get());
    static_cast<void>(created.release());  // pawl_context_free() takes it back.
    return {};
  });
}

pawl_status pawl_context_free(pawl_context context) {
  return call([&]() -> CallEnd {
    Context* freed = nullptr;
    {
      PAWL_TRY_ASSIGN(const ContextHandles::Use use, contexts().use(context, "context"));
      if (!use->is_own()) {
        return make_error(ErrorCode::kInvalidState, "this context is its engine's, which frees it");
      }
      freed = &*use;
    }
    if (!contexts().remove(context)) {
      return bad_handle("context");  // Another thread was faster.
    }
    delete freed;
    return {};
  });
}

pawl_status pawl_context_set_time(pawl_context context, int64_t now_ms) {
  return with_own(context, [&](Context& own) -> CallEnd {
    own.machine().set_time(now_ms);
    return {};
  });
}

// --- Commands ------------------------------------------------------------------------------------

pawl_status pawl_context_open(pawl_context context, const pawl_command* command,
                              pawl_opened* opened) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(opened)) [[unlikely]] {
      return nowhere_to_answer();
    }
    Given<pawl_command> given;
    PAWL_TRY(given.read(command, "command"));
    if (!is_right(*given, it.payload_bytes_max)) [[unlikely]] {
      return bad_command(*given, it.payload_bytes_max);
    }
    PAWL_TRY_ASSIGN(const replay::Opened done, it.machine().open(to_request(*given)));
    opened->future = done.future;
    opened->branch = done.branch;
    opened->must_execute = done.must_execute ? 1 : 0;
    return {};
  });
}

pawl_status pawl_context_complete(pawl_context context, pawl_future operation, int32_t outcome,
                                  pawl_bytes payload) {
  return with_own(context, [&](Context& own) -> CallEnd {
    if (outcome != PAWL_VALUE && outcome != PAWL_FAILED) {
      return wrong_number("outcome", outcome);
    }
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(payload, "payload"));
    return own.machine().complete_operation(operation,
                                            static_cast<replay::OutcomeKind>(outcome - 1), bytes);
  });
}

pawl_status pawl_context_removed(pawl_context context, const pawl_command* step) {
  return with_context(context, [&](Context& it) -> CallEnd {
    Given<pawl_command> given;
    PAWL_TRY(given.read(step, "step"));
    if (!is_right(*given, it.payload_bytes_max)) {
      return bad_command(*given, it.payload_bytes_max);
    }
    return it.machine().removed(to_request(*given));
  });
}

pawl_status pawl_context_check_version(pawl_context context, pawl_branch branch, uint32_t latest,
                                       pawl_bytes source, uint32_t* version) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(version)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view where, read_text(source, "source"));
    PAWL_TRY_ASSIGN(*version, it.machine().check_version(branch, latest, where));
    return {};
  });
}

pawl_status pawl_context_close_branch(pawl_context context, pawl_branch branch) {
  return with_context(context,
                      [&](Context& it) -> CallEnd { return it.machine().close_branch(branch); });
}

// --- Loops ---------------------------------------------------------------------------------------

pawl_status pawl_context_loop_position(pawl_context context, pawl_branch loop,
                                       pawl_loop_position* position) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(position)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const replay::LoopPosition at, it.machine().loop_position(loop));
    position->finished = at.finished;
    position->state = to_bytes(at.state);
    position->is_done = at.done ? 1 : 0;
    position->result = to_bytes(at.result);
    return {};
  });
}

pawl_status pawl_context_enter_iteration(pawl_context context, pawl_branch loop,
                                         pawl_branch* iteration) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(iteration)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(*iteration, it.machine().enter_iteration(loop));
    return {};
  });
}

pawl_status pawl_context_continue_loop(pawl_context context, pawl_branch loop, pawl_bytes state,
                                       pawl_future* checkpoint) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(checkpoint)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(state, "state"));
    PAWL_TRY(check_size(bytes, it.payload_bytes_max, "state"));
    PAWL_TRY_ASSIGN(*checkpoint, it.machine().continue_loop(loop, bytes));
    return {};
  });
}

pawl_status pawl_context_end_loop(pawl_context context, pawl_branch loop, pawl_bytes state,
                                  pawl_bytes result, pawl_future* checkpoint) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(checkpoint)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view last, read_bytes(state, "state"));
    PAWL_TRY_ASSIGN(const std::string_view value, read_bytes(result, "result"));
    PAWL_TRY(check_size(last, it.payload_bytes_max, "state"));
    PAWL_TRY(check_size(value, it.payload_bytes_max, "result"));
    PAWL_TRY_ASSIGN(*checkpoint, it.machine().end_loop(loop, last, value));
    return {};
  });
}

pawl_status pawl_context_abandon_loop(pawl_context context, pawl_branch loop) {
  return with_context(context,
                      [&](Context& it) -> CallEnd { return it.machine().abandon_loop(loop); });
}

// --- Outcomes and awaits -------------------------------------------------------------------------

pawl_status pawl_context_outcome(pawl_context context, pawl_future future, pawl_outcome* outcome) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(outcome)) [[unlikely]] {
      return nowhere_to_answer();
    }
    const replay::Machine& machine = it.machine();
    PAWL_TRY_ASSIGN(const replay::Outcome found, machine.outcome(future));
    *outcome = {};
    if (!found.is_complete) {
      return {};
    }
    outcome->outcome = static_cast<std::int32_t>(found.kind) + 1;
    outcome->has_payload = found.has_payload ? 1 : 0;
    outcome->payload = to_bytes(found.payload);
    if (found.entry != replay::kNoRecord) {
      it.text = machine.log().extra(machine.log()[found.entry]);
      outcome->extra = to_bytes(it.text);
    }
    return {};
  });
}

pawl_status pawl_context_command_id(pawl_context context, pawl_future future, pawl_bytes* id) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(id)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY(it.machine().outcome(future));  // Whether there is such a future.
    it.text = it.machine().command_id(future);
    *id = to_bytes(it.text);
    return {};
  });
}

pawl_status pawl_context_begin_await(pawl_context context, int32_t mode, const pawl_future* futures,
                                     size_t count, int32_t is_shielded, pawl_await_state* begun) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(begun)) [[unlikely]] {
      return nowhere_to_answer();
    }
    if (mode != PAWL_AWAIT_ALL && mode != PAWL_AWAIT_ANY) {
      return wrong_number("mode", mode);
    }
    if (futures == nullptr && count != 0) {
      return null_argument("futures");
    }
    if (count > UINT32_MAX) {
      return make_error(ErrorCode::kLimitExceeded, "count is larger than there can be futures");
    }
    PAWL_TRY_ASSIGN(const replay::AwaitStatus status,
                    it.machine().begin_await(static_cast<replay::AwaitMode>(mode),
                                             std::span(futures, count), is_shielded != 0));
    const bool is_blocked = status.state == replay::AwaitState::kBlocked;
    begun->id = is_blocked ? status.await : 0;
    begun->state = static_cast<std::int32_t>(status.state);
    begun->decided_by = is_blocked ? 0 : status.decided_by;
    return {};
  });
}

pawl_status pawl_context_give_up_await(pawl_context context, pawl_await await) {
  return with_context(context,
                      [&](Context& it) -> CallEnd { return it.machine().give_up_await(await); });
}

// --- Deliveries ----------------------------------------------------------------------------------

pawl_status pawl_context_arrive(pawl_context context, pawl_bytes entry, int32_t* is_taken) {
  return with_own(context, [&](Context& own) -> CallEnd {
    if (!are_there(is_taken)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(entry, "entry"));
    PAWL_TRY_ASSIGN(const json::value value, format::parse_json(text));
    format::EntryReader reader;
    PAWL_TRY(reader.read(value, "entry"));
    PAWL_TRY_ASSIGN(const bool taken, own.machine().arrive(reader.entry));
    *is_taken = taken ? 1 : 0;
    return {};
  });
}

pawl_status pawl_context_next_delivery(pawl_context context, pawl_delivery* delivery) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(delivery)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::optional<replay::Delivery> next,
                    it.is_own() ? it.machine().next_delivery() : it.host().next_delivery());
    if (next) {
      const std::vector<replay::AwaitStatus>& woken = it.machine().woken();
      *delivery = {1, next->future, to_states(woken), woken.size()};
    } else {
      *delivery = {};
    }
    return {};
  });
}

// --- Reads ---------------------------------------------------------------------------------------

pawl_status pawl_context_now(pawl_context context, int64_t* now_ms) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(now_ms)) [[unlikely]] {
      return nowhere_to_answer();
    }
    *now_ms = it.machine().now_ms();
    return {};
  });
}

pawl_status pawl_context_cancelled(pawl_context context, int32_t* is_requested,
                                   pawl_bytes* reason) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(is_requested, reason)) [[unlikely]] {
      return nowhere_to_answer();
    }
    *is_requested = it.machine().cancel_requested() ? 1 : 0;
    *reason = to_bytes(it.machine().cancel_reason());
    return {};
  });
}

pawl_status pawl_context_state(pawl_context context, pawl_bytes key, int32_t* is_set,
                               pawl_bytes* value) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(is_set, value)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view name, read_text(key, "key"));
    const std::optional<std::string_view> found = it.machine().state(name);
    *is_set = found ? 1 : 0;
    *value = to_bytes(found.value_or(std::string_view()));
    return {};
  });
}

pawl_status pawl_context_uuid(pawl_context context, pawl_branch branch, char uuid[37]) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(uuid)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const Uuid made, it.machine().uuid(branch));
    const std::string text = made.to_string();
    std::memcpy(uuid, text.c_str(), 37);
    return {};
  });
}

pawl_status pawl_context_random(pawl_context context, pawl_branch branch, uint64_t* random) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(random)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(*random, it.machine().random(branch));
    return {};
  });
}

pawl_status pawl_context_signal_count(pawl_context context, pawl_bytes name, size_t* count) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(count)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view signal, read_text(name, "name"));
    *count = it.machine().signal_count(signal);
    return {};
  });
}

pawl_status pawl_context_take_signal(pawl_context context, pawl_branch branch, pawl_bytes name,
                                     pawl_outcome* signal) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(signal)) [[unlikely]] {
      return nowhere_to_answer();
    }
    PAWL_TRY_ASSIGN(const std::string_view wanted, read_text(name, "name"));
    PAWL_TRY_ASSIGN(const std::optional<replay::RecordId> taken,
                    it.machine().take_signal(branch, wanted));
    *signal = {};
    if (taken) {
      const replay::Log& log = it.machine().log();
      const replay::Record& record = log[*taken];
      signal->outcome = PAWL_VALUE;
      signal->has_payload = record.has_payload ? 1 : 0;
      signal->payload = to_bytes(record.payload.view());
      it.text = log.extra(record);
      signal->extra = to_bytes(it.text);
    }
    return {};
  });
}

// --- The end, and what came of it ----------------------------------------------------------------

pawl_status pawl_context_finish(pawl_context context, int32_t end, pawl_bytes payload) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (end < PAWL_END_COMPLETED || end > PAWL_END_RECURRED) {
      return wrong_number("end", end);
    }
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(payload, "payload"));
    PAWL_TRY(check_size(bytes, it.payload_bytes_max, "payload"));
    if (!it.is_own()) {
      it.host().record_sends();
    }
    return it.machine().finish(static_cast<replay::EntryKind>(end), bytes);
  });
}

pawl_status pawl_context_take_new(pawl_context context, pawl_buffer* entries) {
  return with_own(context, [&](Context& own) -> CallEnd {
    if (!are_there(entries)) [[unlikely]] {
      return nowhere_to_answer();
    }
    const replay::Batch batch = own.machine().take_new();
    json::array list;
    for (replay::RecordId id = batch.first; id < batch.last; ++id) {
      list.emplace_back(format::export_entry(own.machine().log(), id));
    }
    give(format::print_json(list), entries);
    return {};
  });
}

pawl_status pawl_context_report(pawl_context context, pawl_buffer* report) {
  return with_context(context, [&](Context& it) -> CallEnd {
    if (!are_there(report)) [[unlikely]] {
      return nowhere_to_answer();
    }
    json::object object;
    object["waiting"] = texts_of(it.machine().waiting());
    object["orphaned"] = texts_of(it.machine().orphaned());
    give(format::print_json(object), report);
    return {};
  });
}

pawl_status pawl_context_violation(pawl_context context, pawl_violation* violation) {
  return with_context(context, [&](Context& it) -> CallEnd {
    PAWL_TRY_ASSIGN(pawl_violation filled, read_struct(violation, "violation"));
    if (it.machine().violation() && it.violation_text.empty()) {
      it.violation_text = it.machine().violation()->render();
    }
    const std::size_t size = violation->size;
    filled = {};
    PAWL_TRY(fill(it, filled));
    filled.size = size;
    std::memcpy(violation, &filled, std::min(size, sizeof(filled)));
    return {};
  });
}

// --- Contexts of an engine -----------------------------------------------------------------------

pawl_status pawl_context_execute(pawl_context context, pawl_future operation,
                                 const pawl_retry* retry, int64_t timeout_ms) {
  return with_engines(context, [&](Context& it) -> CallEnd {
    PAWL_TRY_ASSIGN(engine::RetryPolicy policy, read_retry(retry));
    PAWL_TRY_ASSIGN(const replay::Outcome outcome, it.machine().outcome(operation));
    if (it.machine().kind_of(operation) != replay::CommandKind::kOperation || outcome.is_complete) {
      return make_error(ErrorCode::kInvalidState, "this is no operation that must be executed");
    }
    if (timeout_ms < 0) {
      return wrong_number("timeout_ms", timeout_ms);
    }
    it.host().execute_elsewhere(operation, it.body_for(operation), std::move(policy), timeout_ms);
    return {};
  });
}

pawl_status pawl_context_send(pawl_context context, pawl_future operation, pawl_bytes run_id,
                              pawl_bytes signal, pawl_bytes payload, pawl_bytes extra,
                              pawl_bytes dedupe) {
  return with_engines(context, [&](Context& it) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view to, read_name(run_id, "run_id"));
    PAWL_TRY_ASSIGN(const std::string_view name, read_name(signal, "signal"));
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(payload, "payload"));
    PAWL_TRY(check_size(bytes, it.payload_bytes_max, "payload"));
    PAWL_TRY_ASSIGN(const std::string_view attributes, read_text(extra, "extra"));
    if (!attributes.empty()) {
      const Result<json::value> read = format::parse_json(attributes);
      if (!read || !read->is_object()) {
        return make_error(ErrorCode::kMalformedInput, "extra: a JSON object is expected");
      }
    }
    PAWL_TRY_ASSIGN(const std::string_view once, read_text(dedupe, "dedupe"));
    PAWL_TRY_ASSIGN(const replay::Outcome outcome, it.machine().outcome(operation));
    if (it.machine().kind_of(operation) != replay::CommandKind::kOperation || outcome.is_complete) {
      return make_error(ErrorCode::kInvalidState, "this is no operation that must be executed");
    }
    it.host().send(operation, std::string(to), std::string(name), std::string(bytes),
                   std::string(attributes), std::string(once));
    return {};
  });
}

pawl_status pawl_context_yield(pawl_context context) {
  return call([&]() -> CallEnd {
    engine::Job back;
    {
      PAWL_TRY_ASSIGN(const ContextHandles::Use use, contexts().use(context, "context"));
      if (use->is_own() || use->try_machine() == nullptr) {
        return make_error(ErrorCode::kInvalidState, "this context is not handed out");
      }
      back = use->take_back();
    }
    back();  // The engine may free the context at once.
    return {};
  });
}
